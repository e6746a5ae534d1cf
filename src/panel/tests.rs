//! Tests of the panel in an app without a window. The test owns the egui context.

use bevy::camera::Exposure;
use bevy::time::Real;
use bevy_egui::{EguiContext, EguiUserTextures, PrimaryEguiContext, egui};

use super::*;
use crate::DeviceChoice;
use crate::bake::{BakePass, Report};
use crate::geometry::Aabb;
use crate::partition::{PartitionKind, PartitionSettings};
use crate::plugin::{
    BakeConvergence, BakeFinished, BakePhase, BakeProgress, BatchTimes, CancelBake, CutScene, LightmapOverlay,
    Lightmaps, LiveChannel, LiveIntegrator, LiveView, LiveViewStatus, PartitionCells, Relight, RelightStatus,
    SceneStatus,
};
use crate::radiosity::Method;

/// Number of writes to view settings that other systems would detect.
#[derive(Resource, Default)]
struct Writes(usize);

type ViewWritten = Or<(Changed<LiveView>, Changed<Exposure>)>;

fn count_writes(
    mut writes: ResMut<Writes>,
    changed: Query<(), ViewWritten>,
    lightmaps: Res<Lightmaps>,
    panel: Res<Panel>,
) {
    writes.0 += changed.iter().count() + usize::from(lightmaps.is_changed()) + usize::from(panel.is_changed());
}

#[derive(Resource, Default, PartialEq, Debug)]
struct Triggered {
    densities: Vec<f32>,
    cancelled: usize,
}

struct Screen {
    app: App,
    camera: Entity,
    egui: egui::Context,
}

impl Screen {
    fn new(camera: impl Bundle) -> Self {
        let mut app = App::new();
        app.init_resource::<Lightmaps>()
            .init_resource::<BakeProgress>()
            .init_resource::<BakeConvergence>()
            .init_resource::<LightmapOverlay>()
            .init_resource::<PartitionCells>()
            .init_resource::<SceneStatus>()
            .init_resource::<Time<Real>>()
            .init_resource::<ButtonInput<KeyCode>>()
            .init_resource::<EguiUserTextures>()
            .init_resource::<Writes>()
            .init_resource::<Triggered>()
            .add_systems(PreUpdate, press_keys)
            .add_systems(Last, count_writes)
            .add_observer(|bake: On<Bake>, mut triggered: ResMut<Triggered>| {
                triggered.densities.push(bake.settings.layout.texels_per_meter);
            })
            .add_observer(|_: On<CancelBake>, mut triggered: ResMut<Triggered>| triggered.cancelled += 1);
        add_systems(&mut app);
        app.add_systems(EguiPrimaryContextPass, window::show);
        let camera = app.world_mut().spawn((Camera3d::default(), PrimaryEguiContext, camera)).id();
        let egui = app.world_mut().get_mut::<EguiContext>(camera).unwrap().get_mut().clone();
        let mut screen = Self { app, camera, egui };
        // The window needs some frames to find its size.
        for _ in 0..4 {
            screen.frame(Vec::new());
        }
        screen.app.world_mut().resource_mut::<Writes>().0 = 0;
        screen
    }

    /// Draws the panel and updates the app.
    fn frame(&mut self, events: Vec<egui::Event>) -> Vec<egui::epaint::ClippedShape> {
        let size = egui::vec2(800.0, 900.0);
        let screen_rect = Some(egui::Rect::from_min_size(egui::Pos2::ZERO, size));
        let input = egui::RawInput { screen_rect, events, ..Default::default() };
        let world = self.app.world_mut();
        let mut output = self.egui.run_ui(input, |_| world.run_schedule(EguiPrimaryContextPass));
        let shapes = core::mem::take(&mut output.shapes);
        output.drop_without_applying_deltas();
        self.app.update();
        shapes
    }

    /// Returns the center of a text, if it is shown.
    fn find(&mut self, text: &str) -> Option<egui::Pos2> {
        self.place_of(text).map(|place| place.center())
    }

    fn place_of(&mut self, text: &str) -> Option<egui::Rect> {
        fn find_in(shape: &egui::Shape, text: &str) -> Option<egui::Rect> {
            match shape {
                egui::Shape::Text(shown) if shown.galley.text() == text => Some(shape.visual_bounding_rect()),
                egui::Shape::Vec(shapes) => shapes.iter().find_map(|shape| find_in(shape, text)),
                _ => None,
            }
        }
        self.frame(Vec::new()).iter().find_map(|clipped| find_in(&clipped.shape, text))
    }

    fn click(&mut self, text: &str) {
        let pos = self.find(text).unwrap_or_else(|| panic!("nothing says '{text}'"));
        self.click_at(pos);
    }

    /// Clicks on the widget beside a label.
    fn click_right_of(&mut self, label: &str) {
        let label_at = self.find(label).unwrap_or_else(|| panic!("nothing says '{label}'"));
        let longest = self.place_of("ends at lightmaps").expect("the longest label");
        self.click_at(egui::pos2(longest.right() + 16.0, label_at.y));
    }

    fn click_at(&mut self, pos: egui::Pos2) {
        let button = |pressed| egui::Event::PointerButton {
            pos,
            button: egui::PointerButton::Primary,
            pressed,
            modifiers: egui::Modifiers::NONE,
        };
        for event in [egui::Event::PointerMoved(pos), button(true), button(false)] {
            self.frame(vec![event]);
        }
    }

    /// Runs frames until a section has unfolded.
    fn unfold(&mut self) {
        for _ in 0..30 {
            self.frame(Vec::new());
        }
    }

    fn press(&mut self, key: KeyCode) {
        let mut keys = self.app.world_mut().resource_mut::<ButtonInput<KeyCode>>();
        keys.clear();
        keys.press(key);
        self.frame(Vec::new());
        self.app.world_mut().resource_mut::<ButtonInput<KeyCode>>().reset_all();
    }

    fn live(&self) -> Option<LiveView> {
        self.app.world().get(self.camera).copied()
    }

    fn ev100(&self) -> Option<f32> {
        self.app.world().get::<Exposure>(self.camera).map(|exposure| exposure.ev100)
    }

    /// Returns whether the live view and lightmaps are on.
    fn mode(&self) -> (bool, bool) {
        (self.live().is_some_and(|live| live.enabled), self.app.world().resource::<Lightmaps>().enabled)
    }

    fn writes(&self) -> usize {
        self.app.world().resource::<Writes>().0
    }
}

/// Settings between the steps of sliders, and partly outside their ranges.
const ODD: LiveView = LiveView {
    enabled: true,
    bounces: 77,
    max_samples: 70_001,
    render_scale: 0.333_333,
    frame_budget: 0.017_3,
    filter: false,
    ends_at_lightmaps: true,
    integrator: LiveIntegrator::Light,
    channel: LiveChannel::Noise,
};

#[test]
fn what_nobody_touches_is_never_written() {
    let mut screen = Screen::new((ODD, Exposure { ev100: 42.424_2 }));
    screen.app.world_mut().resource_mut::<Panel>().bake.settings.layout.texels_per_meter = 0.123_4;
    screen.frame(Vec::new());
    screen.app.world_mut().resource_mut::<Writes>().0 = 0;
    for x in 0..40 {
        // The pointer moves over the whole panel.
        let across = (0..90).map(|y| egui::Event::PointerMoved(egui::pos2(x as f32 * 10.0, y as f32 * 10.0)));
        screen.frame(across.collect());
    }
    assert_eq!(screen.writes(), 0);
    assert_eq!(screen.live(), Some(ODD));
}

#[test]
fn a_click_on_a_mode_sets_the_live_view_and_the_lightmaps() {
    let mut screen = Screen::new(LiveView { enabled: false, ..ODD });
    assert_eq!(screen.mode(), (false, true));
    screen.click("Live");
    assert_eq!(screen.live(), Some(ODD), "the rest of its settings is as it was");
    assert_eq!(screen.mode(), (true, true));
    screen.click("Off");
    assert_eq!(screen.mode(), (false, false));
    screen.click("Lightmaps");
    assert_eq!(screen.mode(), (false, true));
    assert_eq!(screen.writes(), 4, "live on, live and lightmaps off, lightmaps on: each once");
}

#[test]
fn keys_switch_modes_and_no_other_system_sees_them() {
    #[derive(Resource, Default)]
    struct Seen(usize);
    let mut screen = Screen::new(LiveView { enabled: false, ..default() });
    screen
        .app
        .init_resource::<Seen>()
        .add_systems(Update, |keys: Res<ButtonInput<KeyCode>>, mut seen: ResMut<Seen>| {
            seen.0 += keys.get_just_pressed().count()
        });
    let mut modes = Vec::new();
    for key in [KeyCode::KeyP, KeyCode::KeyP, KeyCode::KeyL, KeyCode::KeyP, KeyCode::KeyL, KeyCode::KeyL] {
        screen.press(key);
        modes.push(screen.mode());
    }
    let (live, lightmaps, off) = ((true, true), (false, true), (false, false));
    assert_eq!(modes, [live, lightmaps, off, (true, false), lightmaps, off]);
    assert_eq!(screen.app.world().resource::<Seen>().0, 0);
    screen.press(KeyCode::KeyX);
    assert_eq!(screen.app.world().resource::<Seen>().0, 1, "other keys are the app's");
}

#[test]
fn an_apps_systems_run_before_and_after_those_of_the_panel() {
    #[derive(Resource, Default)]
    struct Ran(Vec<&'static str>);
    let mut screen = Screen::new(LiveView::default());
    let note = |name: &'static str| move |mut ran: ResMut<Ran>| ran.0.push(name);
    screen.app.init_resource::<Ran>().add_systems(
        Update,
        (note("after").after(RadiositySystems::Panel), note("before").before(RadiositySystems::Panel)),
    );
    screen.frame(Vec::new());
    assert_eq!(screen.app.world().resource::<Ran>().0, ["before", "after"]);
    let update = screen.app.get_schedule(Update).expect("it has run");
    let systems = update.graph().systems_in_set(RadiositySystems::Panel.intern()).expect("the set exists");
    assert!(!systems.is_empty(), "the panel's systems are in the set");
}

#[test]
fn f1_hides_the_panel_and_shows_it_again() {
    let mut screen = Screen::new(());
    assert!(screen.find("Lightmaps").is_some());
    screen.press(KeyCode::F1);
    assert!(screen.find("Lightmaps").is_none());
    screen.press(KeyCode::F1);
    assert!(screen.find("Lightmaps").is_some());
}

#[test]
fn the_panel_shows_what_the_world_has_become() {
    let mut screen = Screen::new((LiveView::default(), LiveViewStatus { samples: 1, ..default() }));
    assert!(screen.find("1 sample a pixel, 0 x 0 pixels").is_some());
    let status = LiveViewStatus { samples: 12, size: UVec2::new(320, 180), ..default() };
    *screen.app.world_mut().get_mut(screen.camera).unwrap() = status;
    assert!(screen.find("12 samples a pixel, 320 x 180 pixels").is_some());
}

#[test]
fn a_camera_without_a_live_view_gets_one_when_it_is_asked_for() {
    let mut screen = Screen::new(());
    assert_eq!(screen.live(), None);
    screen.click("Live");
    assert_eq!(screen.live(), Some(LiveView::default()));
}

#[test]
fn several_live_views_switch_together_and_keep_what_is_their_own() {
    let mut screen = Screen::new(LiveView::default());
    let own = LiveView { render_scale: 0.25, bounces: 2, ..default() };
    let other = screen.app.world_mut().spawn((Camera3d::default(), own)).id();
    screen.press(KeyCode::KeyP);
    assert_eq!(screen.mode(), (false, true));
    assert_eq!(screen.app.world().get(other), Some(&LiveView { enabled: false, ..own }));
}

#[test]
fn boxes_are_ticked_and_sliders_set_what_stands_beside_them() {
    let mut screen = Screen::new(LiveView::default());
    for label in ["filter", "ends at lightmaps"] {
        screen.click_right_of(label);
    }
    let ticked = screen.live().unwrap();
    assert_eq!((ticked.filter, ticked.ends_at_lightmaps), (false, true));
    for label in ["bounces", "samples", "render scale", "frame budget", "exposure"] {
        let before = (screen.live(), screen.ev100());
        screen.click_right_of(label);
        assert_ne!((screen.live(), screen.ev100()), before, "{label}");
    }
    assert!(ticked.enabled && !screen.live().unwrap().filter, "the rest stays");
}

#[test]
fn a_click_chooses_the_integrator_of_live_views() {
    let mut screen = Screen::new(LiveView::default());
    for (name, integrator) in [("hybrid", LiveIntegrator::Hybrid), ("light tracing", LiveIntegrator::Light)] {
        screen.click(name);
        assert_eq!(screen.live(), Some(LiveView { integrator, ..default() }), "{name}");
    }
}

#[test]
fn frames_are_remembered_in_turn_and_the_oldest_are_forgotten() {
    let mut history = super::history::History::default();
    for frame in 1..=500 {
        history.push(frame as f32);
    }
    assert_eq!((history.mean(), history.largest()), (380.5, 500.0), "the last 240");
}

#[test]
fn the_button_bakes_with_the_apps_settings_and_another_cancels() {
    let mut screen = Screen::new(());
    screen.app.world_mut().resource_mut::<Panel>().bake.settings.layout.texels_per_meter = 5.5;
    screen.click("Bake now");
    assert_eq!(screen.app.world().resource::<Triggered>().densities, [5.5]);
    let progress = BakeProgress { phase: BakePhase::Reading, fraction: 0.0, seconds_left: None };
    screen.app.insert_resource(progress);
    screen.click("Cancel");
    assert_eq!(*screen.app.world().resource::<Triggered>(), Triggered { densities: vec![5.5], cancelled: 1 });
}

#[test]
fn clicks_choose_how_a_bake_is_solved_and_subscenes_go_with_the_method_that_has_them() {
    let mut screen = Screen::new(());
    let solver = |screen: &Screen| screen.app.world().resource::<Panel>().bake.settings.solver;
    let mut before = "gather";
    for (name, method) in
        [("path", Method::Path), ("stochastic", Method::Stochastic), ("progressive", Method::Progressive)]
    {
        assert!(screen.find("in subscenes").is_none(), "{name}");
        screen.click(before);
        screen.unfold();
        screen.click(name);
        assert_eq!(solver(&screen).method, method);
        before = name;
    }
    screen.click("in subscenes");
    screen.click("balanced");
    let partition = solver(&screen).subscenes.map(|subscenes| subscenes.partition);
    assert_eq!(partition.map(|partition| (partition.kind, partition.count)), Some((PartitionKind::Balanced, 4)));
    assert!(screen.app.world().resource::<Panel>().bake.settings.check().is_ok());
    screen.click("progressive");
    screen.unfold();
    screen.click("counted");
    assert_eq!(solver(&screen).subscenes.map(|subscenes| subscenes.partition), partition);
    screen.click("counted");
    screen.unfold();
    screen.click("gather");
    assert_eq!((solver(&screen).method, solver(&screen).subscenes), (Method::Gather, None));
}

#[test]
fn clicks_choose_the_device_of_bakes_and_the_panel_says_which_one_the_last_bake_used() {
    let mut screen = Screen::new(());
    let device = |screen: &Screen| screen.app.world().resource::<Panel>().bake.settings.device;
    let mut before = (DeviceChoice::Auto, "either");
    for after in [(DeviceChoice::Gpu, "the graphics card"), (DeviceChoice::Cpu, "the processor")] {
        assert_eq!(device(&screen), before.0);
        screen.click(before.1);
        screen.unfold();
        screen.click(after.1);
        before = after;
    }
    assert_eq!(device(&screen), DeviceChoice::Cpu);
    let report = Report { backend: "gpu".to_owned(), ..default() };
    screen.app.world_mut().trigger(BakeFinished { report, times: BatchTimes::default() });
    assert!(screen.find("rays by the graphics card").is_some());
}

#[test]
fn debug_views_are_a_click_away_and_suit_what_is_shown() {
    let mut screen = Screen::new(LiveView { enabled: false, ..default() });
    screen.click("Debug views");
    screen.unfold();
    screen.click("charts");
    assert_eq!(*screen.app.world().resource::<LightmapOverlay>(), LightmapOverlay::Charts);
    assert!(screen.find("noise").is_none(), "only a live view has any");
    screen.click("Live");
    assert!(screen.find("charts").is_none());
    screen.click("noise");
    assert_eq!(screen.live().map(|live| live.channel), Some(LiveChannel::Noise));
    screen.click("KD-tree");
    assert_eq!(screen.app.world().resource::<Panel>().tree_depth, Some(4));
    screen.click("KD-tree");
    assert_eq!(screen.app.world().resource::<Panel>().tree_depth, None);
}

#[test]
fn a_partition_is_asked_for_by_kind_and_its_cells_are_counted() {
    let mut screen = Screen::new(());
    let wanted = |screen: &Screen| screen.app.world().resource::<PartitionCells>().wanted;
    screen.click("Debug views");
    screen.unfold();
    screen.click("partition");
    screen.unfold();
    assert_eq!(wanted(&screen), Some(PartitionSettings::default()));
    screen.click("uniform");
    assert_eq!(wanted(&screen).map(|settings| settings.kind), Some(PartitionKind::Uniform));
    assert!(screen.find("nothing has been cut yet").is_some());
    let cut = CutScene { cells: vec![Aabb { min: Vec3::ZERO, max: Vec3::ONE }; 3], sigma: 0.25 };
    screen.app.world_mut().resource_mut::<PartitionCells>().cut = Some(Ok(cut));
    assert!(screen.find("3 cells, sigma 0.250").is_some());
    screen.click("partition");
    assert_eq!(wanted(&screen), None);
}

#[test]
fn a_click_has_lightmaps_follow_their_lights_and_the_panel_says_why_they_do_not() {
    let mut screen = Screen::new(());
    let follows = |screen: &Screen| screen.app.world().get_resource::<Relight>().map(|relight| relight.enabled);
    assert_eq!(follows(&screen), None);
    screen.click("lightmaps follow their lights");
    assert_eq!(follows(&screen), Some(true));
    assert!(screen.find("There are no lightmaps that could follow.").is_some());
    let status = RelightStatus { problem: Some("the level has changed".to_owned()), ..default() };
    screen.app.world_mut().spawn(status);
    assert!(screen.find("the level has changed").is_some());
    screen.click("lightmaps follow their lights");
    assert_eq!(follows(&screen), Some(false));
}

#[test]
fn clicks_choose_what_draws_pages_that_follow_their_lights_and_the_panel_says_why_the_processor_does() {
    let mut screen = Screen::new(());
    let device = |screen: &Screen| screen.app.world().resource::<Relight>().device;
    screen.click("lightmaps follow their lights");
    assert_eq!(device(&screen), DeviceChoice::Auto);
    screen.click("the graphics card");
    assert_eq!(device(&screen), DeviceChoice::Gpu);
    screen.click("the processor");
    assert_eq!(device(&screen), DeviceChoice::Cpu);
    let processor_reason = Some("there is no graphics card".to_owned());
    let status = RelightStatus { is_active: true, processor_reason, ..default() };
    screen.app.world_mut().spawn((Name::new("island"), status));
    assert!(screen.find("The processor draws: there is no graphics card").is_some());
    assert!(screen.find("island").is_none(), "there is only one level");
    screen.app.world_mut().spawn((Name::new("ship"), RelightStatus { is_active: true, ..default() }));
    assert!(screen.find("island").is_some(), "each of several levels has its name above its status");
}

#[test]
fn the_panel_says_how_far_a_bake_has_converged() {
    let mut screen = Screen::new(());
    let passes = [(1.5, 0.2), (6.0, 0.034)].map(|(seconds, error)| BakePass {
        seconds,
        error,
        error_of_mean: error,
        rays: 1000,
    });
    screen.app.insert_resource(BakeConvergence { passes: passes.to_vec() });
    assert!(screen.find("error about 3.4 % after 2 passes, 6.0 s").is_some());
}

#[test]
fn the_last_bakes_warnings_are_a_click_away() {
    let mut screen = Screen::new(());
    let warning = "'leaf' has no normals";
    let report = Report { warnings: vec![warning.to_owned()], surfaces: 3, pages: 1, ..default() };
    screen.app.world_mut().trigger(BakeFinished { report, times: BatchTimes::default() });
    assert!(screen.find(warning).is_none());
    screen.click("1 warning");
    screen.unfold();
    assert!(screen.find(warning).is_some());
}

#[test]
fn without_a_camera_that_shows_egui_nothing_happens() {
    let mut screen = Screen::new(LiveView::default());
    screen.app.world_mut().entity_mut(screen.camera).remove::<PrimaryEguiContext>();
    assert!(screen.find("Lightmaps").is_none());
    screen.app.world_mut().despawn(screen.camera);
    screen.press(KeyCode::KeyP);
    assert_eq!(screen.writes(), 0);
}

#[test]
fn a_box_beside_its_label_chooses_the_filter_of_lightmaps() {
    let mut screen = Screen::new(LiveView { enabled: false, ..default() });
    let filter = |screen: &Screen| *screen.app.world().resource::<Lightmaps>();
    assert_eq!(filter(&screen), Lightmaps { enabled: true, bicubic: true });
    let label = screen.place_of("bicubic lightmaps").expect("a label");
    screen.click_at(egui::pos2(label.right() + 16.0, label.center().y));
    assert_eq!(filter(&screen), Lightmaps { enabled: true, bicubic: false });
}
