//! Tests of apps that leave out some of the plugins, and of the diagnostics that each plugin adds.

use core::any::TypeId;

use bevy::app::PluginGroupBuilder;
use bevy::diagnostic::DiagnosticsStore;
use bevy::ecs::reflect::{AppTypeRegistry, ReflectComponent, ReflectEvent, ReflectResource};
use bevy::prelude::*;
use bevy_radiosity::plugin::*;

use crate::app::*;
use crate::relight::diagnosed;

fn create_app_without<P: Plugin>() -> App {
    create_world_app_with(RadiosityPlugins.build().disable::<P>())
}

/// Runs an app without a plugin, with something to do for all others.
fn run_without<P: Plugin>() {
    let mut app = create_app_without::<P>();
    spawn_lit_floor(&mut app, 2.0, 100.0);
    app.insert_resource(Relight::default());
    app.world_mut().spawn(LiveView::default());
    spawn_baked_level(&mut app, "a folder that is not there");
    app.world_mut().trigger(quick_bake());
    tick_app_times(&mut app, 3);
    app.world_mut().trigger(RemoveLightmaps);
    tick_app_times(&mut app, 2);
}

#[test]
fn an_app_runs_without_any_one_of_the_plugins() {
    run_without::<SceneSyncPlugin>();
    run_without::<WriteBackPlugin>();
    run_without::<BakePlugin>();
    run_without::<BakedLevelPlugin>();
    run_without::<RelightPlugin>();
    run_without::<LightmapOverlayPlugin>();
    run_without::<PartitionCellsPlugin>();
    run_without::<LiveViewPlugin>();
}

#[test]
fn a_plugin_whose_need_is_left_out_adds_nothing() {
    let app = create_app_without::<SceneSyncPlugin>();
    let world = app.world();
    let diagnostics = world.resource::<DiagnosticsStore>();
    assert!(!world.contains_resource::<BakeProgress>() && diagnostics.get(&RELIGHT_BEHIND).is_none());
    assert!(!world.contains_resource::<PartitionCells>());
    assert!(world.contains_resource::<Lightmaps>() && world.contains_resource::<LightmapOverlay>());
    let app = create_app_without::<WriteBackPlugin>();
    let world = app.world();
    assert!(!world.contains_resource::<BakeProgress>() && !world.contains_resource::<LightmapOverlay>());
    assert!(world.contains_resource::<SceneStatus>() && world.contains_resource::<PartitionCells>());
}

#[test]
fn bakes_need_two_other_plugins_and_are_measured() {
    let plugins = PluginGroupBuilder::start::<RadiosityPlugins>().add(SceneSyncPlugin).add(WriteBackPlugin);
    let mut app = create_world_app_with(plugins.add(BakePlugin));
    let (floor, _) = spawn_lit_floor(&mut app, 2.0, 100.0);
    bake(&mut app, quick_bake()).unwrap();
    assert!(app.world().get::<Baked>(floor).is_some());
    let fraction = diagnosed(&app, &BAKE_PROGRESS);
    assert!((0.0..=100.0).contains(&fraction), "{fraction} %");
    assert!(diagnosed(&app, &BAKE_ERROR) >= 0.0);
    assert!(diagnosed(&app, &BAKE_MAIN_THREAD) > 0.0);
    assert!(diagnosed(&app, &LIGHTMAPS_MAIN_THREAD) > 0.0);
}

/// Asserts that a type is registered with its kind, so that editors and remote tools find it.
fn assert_reflected<T: 'static, Kind: bevy::reflect::TypeData>(app: &App) {
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let name = core::any::type_name::<T>();
    let registration = registry.get(TypeId::of::<T>()).unwrap_or_else(|| panic!("{name} is not registered"));
    assert!(registration.data::<Kind>().is_some(), "{name} is registered without its kind");
}

#[test]
fn components_resources_and_events_are_reflected() {
    macro_rules! assert_all_reflected {
        ($app:expr, $($kind:ident: $($name:ident),+;)+) => {
            $($(assert_reflected::<$name, $kind>($app);)+)+
        };
    }
    assert_all_reflected!(&create_world_app(),
        ReflectComponent: BakeRole, BakeTint, BakeResolution, BakeId, Baked, BakedLight, BakedVolume, BakedLevel, LiveView,
            LiveViewStatus, RelightDoor, RelightExclude, RelightStatus;
        ReflectResource: BakeProgress, BakeConvergence, Lightmaps, LightmapOverlay, MoverLighting, PartitionCells, RadiosityThreads, Relight,
            SceneSettings, SceneStatus, TreeCells;
        ReflectEvent: Bake, CancelBake, BakeFinished, BakeFailed, BakedLevelLoaded, BakedLevelShown, BakedLevelFailed,
            RemoveLightmaps;
    );
}
