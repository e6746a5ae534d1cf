//! Tests of the order of an app's systems around the system sets of the plugins.

use std::sync::{Arc, Mutex};

use bevy::app::SubApp;
use bevy::core_pipeline::Core3d;
use bevy::ecs::schedule::ScheduleLabel;
use bevy::prelude::*;
use bevy::render::renderer::RenderGraph;
use bevy::render::{ExtractSchedule, Render, RenderApp, RenderStartup};
use bevy_radiosity::prelude::*;

use crate::app::*;

/// Side of a set on which a system of the app runs.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Side {
    Before(RadiositySystems),
    After(RadiositySystems),
}

/// Sides in the order in which their systems ran.
#[derive(Clone, Default)]
struct Ran(Arc<Mutex<Vec<Side>>>);

/// Adds a system before a set of a schedule, and one after it. Returns the log of their runs.
fn add_systems_around(app: &mut SubApp, schedule: impl ScheduleLabel, set: RadiositySystems) -> Ran {
    let ran = Ran::default();
    let note = |side: Side| {
        let ran = ran.clone();
        (move || ran.0.lock().unwrap().push(side)).in_set(side)
    };
    app.add_systems(schedule, (note(Side::Before(set)).before(set), note(Side::After(set)).after(set)));
    ran
}

/// Asserts that both systems ran in turns, and that the set has systems, all of them in between.
fn assert_around(app: &SubApp, schedule: impl ScheduleLabel, set: RadiositySystems, ran: &Ran) {
    let what = format!("{set:?} of {schedule:?}");
    let ran = ran.0.lock().unwrap();
    assert!(!ran.is_empty(), "{what} did not run");
    let turns = [Side::Before(set), Side::After(set)].into_iter().cycle();
    assert!(ran.iter().copied().eq(turns.take(ran.len())) && ran.len().is_multiple_of(2), "{what}: {ran:?}");

    let schedule = app.world().resource::<Schedules>().get(schedule).unwrap_or_else(|| panic!("{what} is missing"));
    let order: Vec<_> = schedule.systems().unwrap().map(|(key, _)| key).collect();
    let places = |set: bevy::ecs::schedule::InternedSystemSet| -> Vec<usize> {
        let systems = schedule.graph().systems_in_set(set).unwrap_or_else(|error| panic!("{what}: {error:?}"));
        systems.iter().map(|key| order.iter().position(|other| other == key).unwrap()).collect()
    };
    let [before, after] = [Side::Before(set), Side::After(set)].map(|side| places(side.intern())[0]);
    let ours = places(set.intern());
    assert!(!ours.is_empty(), "{what} has no systems");
    assert!(ours.iter().all(|&ours| before < ours && ours < after), "{what}: {before}, {ours:?}, {after}");
}

/// Checks the sets of each schedule: `check_order!(app, schedule: set, set; ..)`, with `frames` in between.
macro_rules! check_order {
    ($app:expr, $of:expr, $frames:expr, $($schedule:ident: $($set:ident),+;)+) => {
        let logs = [$($(add_systems_around($of(&mut $app), $schedule, RadiositySystems::$set)),+),+];
        tick_app_times(&mut $app, $frames);
        let mut logs = logs.iter();
        $($(assert_around($of(&mut $app), $schedule, RadiositySystems::$set, logs.next().unwrap());)+)+
    };
}

#[test]
fn an_apps_systems_run_before_and_after_each_set_of_the_main_world() {
    let mut app = create_world_app();
    app.world_mut().spawn(LiveView::default());
    check_order!(app, App::main_mut, 3,
        First: LiveView;
        PreUpdate: Levels;
        Update: Overlay;
        PostUpdate: Attach, Watch, Relight, Overlay;
        Last: Watch, Attach, Bake, Partition, LiveView;
    );
}

#[test]
fn an_apps_systems_run_before_and_after_each_set_of_the_render_world() {
    let Some(mut app) = create_drawing_app() else {
        return;
    };
    spawn_camera(&mut app, Vec3::Y, Vec3::ZERO);
    fn render_app(app: &mut App) -> &mut SubApp {
        app.sub_app_mut(RenderApp)
    }
    check_order!(app, render_app, 3,
        RenderStartup: LiveView;
        ExtractSchedule: Relight, LiveView;
        Render: LiveView;
        RenderGraph: Relight, LiveView;
        Core3d: LiveView;
    );
}

#[test]
fn sets_follow_each_other_so_that_a_bake_sees_the_changes_of_its_frame() {
    use RadiositySystems::{Attach, Bake, LiveView, Partition, Watch};
    let mut app = create_world_app();
    let seen = Ran::default();
    for set in [LiveView, Partition, Bake, Attach, Watch] {
        let seen = seen.clone();
        app.add_systems(Last, (move || seen.0.lock().unwrap().push(Side::After(set))).in_set(set));
    }
    tick_app(&mut app);
    assert_eq!(*seen.0.lock().unwrap(), [Watch, Attach, Bake, Partition, LiveView].map(Side::After));
}

#[test]
fn run_conditions_hold_while_a_bake_runs_and_while_a_live_view_is_enabled() {
    #[derive(Resource, Default)]
    struct Frames {
        baking: u32,
        viewing: u32,
        relighting: u32,
    }
    let mut app = create_world_app();
    app.init_resource::<Frames>()
        .add_systems(Update, (|mut frames: ResMut<Frames>| frames.baking += 1).run_if(bake_running))
        .add_systems(Update, (|mut frames: ResMut<Frames>| frames.viewing += 1).run_if(live_view_enabled))
        .add_systems(Update, (|mut frames: ResMut<Frames>| frames.relighting += 1).run_if(relighting));
    spawn_lit_floor(&mut app, 2.0, 100.0);
    tick_app_times(&mut app, 2);
    let frames = |app: &App| {
        let Frames { baking, viewing, relighting } = *app.world().resource::<Frames>();
        (baking, viewing, relighting)
    };
    assert_eq!(frames(&app), (0, 0, 0));
    bake(&mut app, quick_bake()).unwrap();
    let (baking, viewing, _) = frames(&app);
    assert!(baking > 0 && viewing == 0);
    let view = app.world_mut().spawn(LiveView::default()).id();
    tick_app_times(&mut app, 2);
    app.world_mut().get_mut::<LiveView>(view).unwrap().enabled = false;
    tick_app(&mut app);
    assert_eq!(frames(&app), (baking, 2, 0));
}
