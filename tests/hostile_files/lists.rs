//! Tests of files of points and rays.

use bevy_radiosity::cli::{read_points, read_rays};

use crate::damage::Make;
use crate::fuzz::{MIB, Reader, alone};

const MAX_MEMORY: usize = MIB;

#[test]
fn points_are_read_or_refused() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let path = folder.path().join("points.csv");
    let corpus = vec!["x,y,z,nx,ny,nz\n1,2,3,0,5,0\n -1e3, 0.5,0,1,0,0,9,9\n\n0,0,0,1,1,1\n".into()];
    let (make, max_memory) = (Make::Text, MAX_MEMORY);
    Reader { name: "points", make, corpus, mend: None, max_memory, count: 10_000 }.run(|bytes| {
        std::fs::write(&path, bytes).expect("the folder can be written to");
        let Ok(points) = read_points(&path) else { return false };
        assert!(points.iter().all(|point| point.position.is_finite() && point.normal.is_normalized()));
        !points.is_empty()
    });
}

#[test]
fn rays_are_read_or_refused() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let path = folder.path().join("rays");
    let corpus = vec![[0.0f32, 0.0, 5.0, 0.0, 0.0, 0.0, -1.0, 1e30].map(f32::to_le_bytes).as_flattened().repeat(3)];
    let (make, max_memory) = (Make::Bytes, MAX_MEMORY);
    Reader { name: "rays", make, corpus, mend: None, max_memory, count: 10_000 }.run(|bytes| {
        std::fs::write(&path, bytes).expect("the folder can be written to");
        let Ok(rays) = read_rays(&path) else { return false };
        assert_eq!(rays.len(), bytes.len() / 32);
        true
    });
}
