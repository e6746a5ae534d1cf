//! Tests of scenes that lightmap bakers often light wrongly, read from a Bevy world.

use bevy::prelude::*;
use bevy_radiosity::prelude::*;
use bevy_radiosity::radiosity::Method;
use bevy_radiosity::scene::Sky;

use crate::app::*;
use crate::spawn::spawn_scene;

#[path = "../light_faults/cases.rs"]
mod cases;

#[test]
fn a_bevy_world_lights_them_right() {
    for case in cases::cases() {
        let mut app = create_world_app();
        spawn_scene(app.world_mut(), &case.scene);
        if let Sky::Uniform(radiance) = case.scene.sky {
            app.insert_resource(GlobalAmbientLight { brightness: radiance.x, ..default() });
            app.world_mut().resource_mut::<SceneSettings>().ambient_is_sky = true;
        }
        tick_app_times(&mut app, 2);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let settings = case.settings(Method::Gather);
        bake(&mut app, Bake { settings, folder: Some(folder.path().to_owned()), ..default() }).expect(case.name);
        case.assert_right(folder.path(), "from a Bevy world");
    }
}
