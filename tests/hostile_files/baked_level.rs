//! Tests of a baked level with files that are damaged, cut off, or swapped.

use std::borrow::Cow;
use std::path::Path;

use bevy_radiosity::DeviceChoice;
use bevy_radiosity::bake::{self, BakeSettings, RelightPatches, Unobserved};
use bevy_radiosity::lightmap::files::{Level, LevelError, LevelMesh};
use bevy_radiosity::lightmap::{Page, Voxels};
use bevy_radiosity::pathtrace::VolumeSettings;
use bevy_radiosity::scene::CheckedScene;
use bevy_radiosity::scene_files;
use proptest::prelude::*;
use proptest::sample::Index;
use tempfile::TempDir;

use crate::fuzz::{alone, asked, runner};

/// Returns the Cornell box.
pub fn scene() -> CheckedScene {
    scene_files::load("builtin:cornell_box").expect("a built-in scene").scene
}

/// Returns settings of a bake that takes at most about a second and writes a file of each kind.
pub fn settings(seed: u32) -> BakeSettings {
    let mut settings = BakeSettings { device: DeviceChoice::Cpu, ..BakeSettings::default() };
    settings.layout.texels_per_meter = 12.0;
    settings.layout.page_size = 64;
    settings.solver.error = 0.5;
    settings.solver.seed = seed;
    settings.volume = Some(VolumeSettings { spacing: 1.0, samples: 4, ..VolumeSettings::default() });
    settings.relight = Some(RelightPatches(20));
    settings
}

/// Returns a folder with such a bake.
pub fn baked(scene: &CheckedScene, seed: u32) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let mut bake = bake::run(scene.clone(), &settings(seed), &Unobserved).expect("a bake");
    bake.write(folder.path()).expect("there is room");
    folder
}

/// Content of all files of a level.
#[derive(Debug, PartialEq)]
struct Content {
    level: Level,
    pages: Vec<(Page, Vec<u8>)>,
    meshes: Vec<LevelMesh>,
    volume: Option<Voxels>,
    relight: Option<Vec<u8>>,
}

impl Content {
    fn read(folder: &Path) -> Result<Self, LevelError> {
        Level::read_with(folder, |level| {
            let page = |page| Ok((level.read_page(folder, page)?, level.read_texture(folder, page)?));
            Ok(Self {
                level: level.clone(),
                pages: (0..level.pages.len()).map(page).collect::<Result<_, LevelError>>()?,
                meshes: level.read_meshes(folder)?,
                volume: level.read_volume(folder)?,
                relight: level.read_relight(folder)?.map(Cow::into_owned),
            })
        })
    }
}

/// Damage to a level.
#[derive(Clone, Debug)]
enum Accident {
    Flip {
        file: Index,
        at: Index,
        bit: u8,
    },
    Cut {
        file: Index,
        at: Index,
    },
    /// Two blocks of a file change places.
    SwapBlocks {
        file: Index,
        one: Index,
        other: Index,
        length: Index,
    },
    SwapFiles {
        one: Index,
        other: Index,
    },
    /// A file is replaced by the file of the same name from another bake of the same scene.
    OfOtherBake {
        file: Index,
    },
}

fn accidents() -> impl Strategy<Value = Accident> {
    let index = any::<Index>;
    prop_oneof![
        4 => (index(), index(), 0..8u8).prop_map(|(file, at, bit)| Accident::Flip { file, at, bit }),
        2 => (index(), index()).prop_map(|(file, at)| Accident::Cut { file, at }),
        2 => (index(), index(), index(), index())
            .prop_map(|(file, one, other, length)| Accident::SwapBlocks { file, one, other, length }),
        1 => (index(), index()).prop_map(|(one, other)| Accident::SwapFiles { one, other }),
        1 => index().prop_map(|file| Accident::OfOtherBake { file }),
    ]
}

/// Returns names and contents of the files of a folder, in order.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    let mut files: Vec<_> = entries.map(|path| (name(&path), std::fs::read(&path).expect("a file"))).collect();
    files.sort();
    files
}

/// Returns the files that an accident changes, with their new contents.
fn after(accident: &Accident, whole: &[(String, Vec<u8>)], other_bake: &[(String, Vec<u8>)]) -> Vec<(String, Vec<u8>)> {
    let of = |file: &Index| whole[file.index(whole.len())].clone();
    match accident {
        Accident::Flip { file, at, bit } => {
            let (name, mut bytes) = of(file);
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            vec![(name, bytes)]
        }
        Accident::Cut { file, at } => {
            let (name, mut bytes) = of(file);
            bytes.truncate(at.index(bytes.len()));
            vec![(name, bytes)]
        }
        Accident::SwapBlocks { file, one, other, length } => {
            let (name, mut bytes) = of(file);
            let length = 1 + length.index(bytes.len() / 2);
            let places = bytes.len() - length + 1;
            let (one, other) = (one.index(places), other.index(places));
            let (one, other) = (one.min(other), one.max(other));
            let length = length.min(other - one);
            let (before, behind) = bytes.split_at_mut(other);
            before[one..one + length].swap_with_slice(&mut behind[..length]);
            vec![(name, bytes)]
        }
        Accident::SwapFiles { one, other } => {
            let ((one, of_one), (other, of_other)) = (of(one), of(other));
            vec![(one, of_other), (other, of_one)]
        }
        Accident::OfOtherBake { file } => {
            let (name, _) = of(file);
            other_bake.iter().filter(|(other, _)| *other == name).cloned().collect()
        }
    }
}

#[test]
fn damage_to_any_file_of_a_level_is_noticed_or_changes_nothing() {
    let _alone = alone();
    let scene = scene();
    let [folder, other] = [0, 1].map(|seed| baked(&scene, seed));
    let (whole, of_other) = (files(folder.path()), files(other.path()));
    let content = Content::read(folder.path()).expect("a whole level");
    assert!(content.pages.len() > 1 && content.volume.is_some() && content.relight.is_some(), "files of each kind");
    let (count, seed) = asked().unwrap_or((200, 0));
    let mut runner = runner(count.min(10_000), seed);
    let counts = std::cell::Cell::new([0; 3]);
    let outcome = runner.run(&accidents(), |accident| {
        let damaged = after(&accident, &whole, &of_other);
        for (name, bytes) in &damaged {
            std::fs::write(folder.path().join(name), bytes).expect("the folder can be written to");
        }
        let read = Content::read(folder.path());
        for (name, bytes) in whole.iter().filter(|(name, _)| damaged.iter().any(|(other, _)| name == other)) {
            std::fs::write(folder.path().join(name), bytes).expect("the folder can be written to");
        }
        let is_same = damaged.iter().all(|file| whole.contains(file));
        // No reader of levels needs the report.
        let is_unread = damaged.iter().all(|(name, _)| name == "report.json");
        let mut now = counts.get();
        now[if read.is_err() {
            0
        } else if is_same {
            1
        } else {
            2
        }] += 1;
        counts.set(now);
        match read {
            Ok(read) => prop_assert!(read == content && (is_same || is_unread), "the level is read as another"),
            Err(fault) => prop_assert!(!is_same && !is_unread, "{fault}"),
        }
        Ok(())
    });
    let [noticed, same, unread] = counts.get();
    println!(
        "| files of a level | {noticed} noticed | {same} changed no byte | {unread} in files that no reader needs |"
    );
    outcome.expect("damage is noticed or changes nothing");
}
