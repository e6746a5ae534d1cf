//! Tests of levels with damaged or replaced files.

use std::fs;

use bevy::prelude::*;
use bevy_radiosity::plugin::BakedLevelFailed;

use crate::app::*;
use crate::relight::bake_room;

#[derive(Resource)]
struct Refusal(String);

#[test]
fn a_damaged_file_is_named_and_nothing_of_the_level_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    bake_room(folder.path(), None);
    for name in ["page_0.ktx2", "unwrapped_meshes.bin", "level.ron"] {
        let path = folder.path().join(name);
        let good = fs::read(&path).unwrap();
        let mut damaged = good.clone();
        damaged[good.len() / 2] ^= 4;
        fs::write(&path, damaged).unwrap();
        let mut app = create_world_app();
        app.add_observer(|failed: On<BakedLevelFailed>, mut commands: Commands| {
            commands.insert_resource(Refusal(failed.error.to_string()));
        });
        spawn_baked_level(&mut app, folder.path());
        tick_app_until(&mut app, "a refusal", |app| app.world().contains_resource::<Refusal>());
        let said = &app.world().resource::<Refusal>().0;
        assert!(said.contains(name) && said.contains("damaged"), "{said}");
        assert!(!said.contains("loader") && !said.contains('\n'), "{said}");
        fs::write(&path, good).unwrap();
    }
}
