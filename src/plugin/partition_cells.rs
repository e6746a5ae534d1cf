//! How the scene that was read last would be cut into subscenes, for whoever wants to draw it.

use std::sync::Arc;
use std::thread::JoinHandle;

use bevy::prelude::*;

use super::tree_cells::TreeCells;
use crate::geometry::Aabb;
use crate::partition::{Partition, PartitionError, PartitionSettings, Polygons, imbalance};

/// The cells of a partition of what a bake or a live view was built from last. They are cut anew, in the background, when
/// others are wanted or the scene has been read again.
#[derive(Resource, Debug, Default)]
pub struct PartitionCells {
    /// How to cut; `None` cuts nothing. Lamps are not known here, only surfaces: share out areas.
    pub wanted: Option<PartitionSettings>,
    /// What came of it; `None` while nothing has been cut.
    pub cut: Option<Result<CutScene, PartitionError>>,
}

/// A scene that has been cut.
#[derive(Clone, Debug, PartialEq)]
pub struct CutScene {
    /// All cells.
    pub cells: Vec<Aabb>,
    /// How unequal the areas in them are: [`imbalance`].
    pub sigma: f64,
}

/// Cuts in the background.
pub struct PartitionCellsPlugin;

impl Plugin for PartitionCellsPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<TreeCells>().init_resource::<PartitionCells>().add_systems(Update, cut);
    }
}

/// The cut that is under way.
#[derive(Default)]
struct Cutting {
    thread: Option<JoinHandle<Result<CutScene, PartitionError>>>,
    /// What `thread` or the last one before it was given.
    given: Option<(PartitionSettings, Arc<Polygons>)>,
}

fn cut(mut partition: ResMut<PartitionCells>, tree: Res<TreeCells>, mut cutting: Local<Cutting>) {
    if let Some(thread) = cutting.thread.take_if(|thread| thread.is_finished()) {
        // A thread that panicked has cut nothing.
        partition.cut = thread.join().ok();
    }
    let Some(settings) = partition.wanted else {
        if partition.cut.is_some() {
            partition.cut = None;
            cutting.given = None;
        }
        return;
    };
    let is_given = cutting
        .given
        .as_ref()
        .is_some_and(|(given, polygons)| *given == settings && Arc::ptr_eq(polygons, &tree.polygons));
    if cutting.thread.is_none() && !is_given && !tree.polygons.is_empty() {
        let polygons = tree.polygons.clone();
        cutting.given = Some((settings, polygons.clone()));
        cutting.thread = Some(std::thread::spawn(move || CutScene::new(&polygons, &settings)));
    }
}

impl CutScene {
    fn new(polygons: &Polygons, settings: &PartitionSettings) -> Result<Self, PartitionError> {
        let partition = Partition::new(polygons, settings)?;
        let areas: Vec<f64> = (0..polygons.len()).map(|polygon| polygons.area(polygon)).collect();
        let sigma = imbalance(&partition.loads(polygons, &areas));
        Ok(Self { cells: partition.cells().to_vec(), sigma })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::PartitionKind;

    /// Squares in the ground plane, one beside the other.
    fn squares(count: u32) -> TreeCells {
        let mut polygons = Polygons::default();
        for index in 0..count {
            let corner = Vec3::X * index as f32;
            polygons.push(&[corner, corner + Vec3::Z, corner + Vec3::Z + Vec3::X, corner + Vec3::X], 0.0);
        }
        TreeCells { levels: Vec::new(), polygons: Arc::new(polygons) }
    }

    fn cells_of(app: &mut App) -> Option<Result<usize, PartitionError>> {
        for _ in 0..1000 {
            app.update();
            std::thread::sleep(core::time::Duration::from_millis(1));
            let partition = app.world().resource::<PartitionCells>();
            if let Some(cut) = &partition.cut {
                return Some(cut.as_ref().map(|cut| cut.cells.len()).map_err(Clone::clone));
            }
        }
        None
    }

    #[test]
    fn cells_follow_what_is_wanted_and_what_was_read() {
        let mut app = App::new();
        app.add_plugins(PartitionCellsPlugin);
        let want = |app: &mut App, kind: PartitionKind, count: u32| {
            let settings = PartitionSettings { kind, count, ..PartitionSettings::default() };
            let mut partition = app.world_mut().resource_mut::<PartitionCells>();
            partition.wanted = Some(settings);
            partition.cut = None;
        };
        want(&mut app, PartitionKind::Uniform, 6);
        app.update();
        assert!(app.world().resource::<PartitionCells>().cut.is_none(), "nothing has been read");
        app.insert_resource(squares(12));
        assert_eq!(cells_of(&mut app), Some(Ok(6)));
        // Something has changed, and was read again: cells reach as far as it does.
        app.insert_resource(squares(24));
        let reach = |app: &App| {
            let cut = app.world().resource::<PartitionCells>().cut.clone().expect("the old ones stay until then");
            cut.expect("any count is possible").cells.iter().map(|cell| cell.max.x).fold(0.0, f32::max)
        };
        let is_cut_anew = (0..1000).any(|_| {
            app.update();
            std::thread::sleep(core::time::Duration::from_millis(1));
            reach(&app) >= 24.0
        });
        assert!(is_cut_anew, "cells reach to {}", reach(&app));
        want(&mut app, PartitionKind::Balanced, 4);
        assert_eq!(cells_of(&mut app), Some(Ok(4)));
        want(&mut app, PartitionKind::Balanced, 5);
        assert_eq!(cells_of(&mut app), Some(Err(PartitionError::NoPowerOfTwo { count: 5, below: 4, above: 8 })));
        app.world_mut().resource_mut::<PartitionCells>().wanted = None;
        app.update();
        assert!(app.world().resource::<PartitionCells>().cut.is_none());
    }
}
