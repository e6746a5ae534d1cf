//! Tests of the filter of lightmaps.

use bevy::pbr::Lightmap;
use bevy::prelude::*;
use bevy_radiosity::prelude::*;

use crate::app::*;

/// Returns how far the edge of a shadow is from a straight line: the RMS in pixels, along the rows of an image.
fn roughness_of_edge(image: &Image) -> f32 {
    let size = image.size();
    let half = (0..size.x).map(|x| color_at(image, UVec2::new(x, size.y / 2)).x).fold(0.0, f32::max) / 2.0;
    let mut points = Vec::new();
    for y in 0..size.y {
        let row: Vec<f32> = (0..size.x).map(|x| color_at(image, UVec2::new(x, y)).x - half).collect();
        let crossings: Vec<usize> = (1..row.len()).filter(|&x| (row[x - 1] < 0.0) != (row[x] < 0.0)).collect();
        if let [x] = crossings[..] {
            points.push(Vec2::new(y as f32, x as f32 - row[x] / (row[x] - row[x - 1])));
        }
    }
    assert!(points.len() > size.y as usize / 2, "{} rows cross the edge", points.len());
    // Least squares.
    let mean = points.iter().sum::<Vec2>() / points.len() as f32;
    let slope = points.iter().map(|point| (point.x - mean.x) * (point.y - mean.y)).sum::<f32>()
        / points.iter().map(|point| (point.x - mean.x).powi(2)).sum::<f32>();
    let squares = points.iter().map(|point| (point.y - mean.y - slope * (point.x - mean.x)).powi(2));
    (squares.sum::<f32>() / points.len() as f32).sqrt()
}

#[test]
fn the_edge_of_a_suns_shadow_is_straighter_with_bicubic_filtering_and_the_filter_may_be_switched() {
    let Some(mut app) = create_drawing_app() else { return };
    let (_, lamp) = spawn_lit_floor(&mut app, 4.0, 1.0);
    app.world_mut().despawn(lamp);
    let sun = DirectionalLight { illuminance: 10_000.0, ..default() };
    app.world_mut().spawn((Name::new("sun"), sun, Transform::default().looking_to(Vec3::NEG_Y, Vec3::X)));
    // A roof above the camera. Its edge crosses the floor's texels of a quarter of a meter at 30 degrees.
    let roof = app.world_mut().resource_mut::<Assets<Mesh>>().add(Cuboid::new(8.0, 0.1, 8.0));
    let turn = Quat::from_rotation_y(30f32.to_radians());
    let material = MeshMaterial3d(spawn_material(&mut app, Color::WHITE));
    let place = Transform::from_translation(turn * (Vec3::Z * 4.07) + Vec3::Y * 3.0).with_rotation(turn);
    app.world_mut().spawn((Name::new("roof"), Mesh3d(roof), material, BakeRole::Occluder, place));
    let picture = spawn_camera(&mut app, Vec3::Y * 2.0, Vec3::ZERO);
    tick_app_times(&mut app, 2);
    let mut fine = quick_bake();
    fine.settings.solver.error = 0.02;
    bake(&mut app, fine).unwrap();
    let mut draw = |bicubic| {
        app.world_mut().resource_mut::<Lightmaps>().bicubic = bicubic;
        tick_app_times(&mut app, 12);
        assert_shows(&mut app, &picture, "the floor is lit", |seen| seen.x > 0.0);
        tick_app_until(&mut app, "the wanted filter", |app| {
            let mut lightmaps = app.world_mut().query::<&Lightmap>();
            lightmaps.iter(app.world()).any(|lightmap| lightmap.bicubic_sampling == bicubic)
        });
        tick_app_times(&mut app, 5);
        picture_of(&mut app, &picture)
    };
    let (bicubic, bilinear, again) = (draw(true), draw(false), draw(true));
    let [smooth, rough] = [&bicubic, &bilinear].map(roughness_of_edge);
    assert!(smooth < 0.75 * rough && rough > 0.0, "{smooth} and {rough} pixels");
    assert_eq!(bicubic.data, again.data);
}

#[test]
fn lightmaps_are_filtered_bicubically_where_charts_are_far_enough_apart() {
    let filters = |app: &mut App| -> Vec<bool> {
        let mut lightmaps = app.world_mut().query::<&Lightmap>();
        lightmaps.iter(app.world()).map(|lightmap| lightmap.bicubic_sampling).collect()
    };
    let folder = tempfile::tempdir().unwrap();
    for (padding, is_smooth) in [(4, true), (3, false), (4, true)] {
        let mut app = create_world_app();
        spawn_lit_floor(&mut app, 2.0, 100.0);
        let mut settings = Bake { folder: Some(folder.path().to_owned()), ..quick_bake() };
        settings.settings.layout.padding = padding;
        bake(&mut app, settings.clone()).unwrap();
        assert_eq!(filters(&mut app), [is_smooth], "a bake with a padding of {padding}");
        // Another padding on pages of the same size.
        settings.settings.layout.padding = 7 - padding;
        settings.folder = None;
        bake(&mut app, settings).unwrap();
        assert_eq!(filters(&mut app), [!is_smooth], "a bake with a padding of {}", 7 - padding);

        let mut app = create_world_app();
        spawn_lit_floor(&mut app, 2.0, 100.0);
        spawn_baked_level(&mut app, folder.path());
        tick_app_until_lit(&mut app);
        assert_eq!(filters(&mut app), [is_smooth], "a level with a padding of {padding}");
    }
    // A level of an earlier version does not say its padding.
    let file = folder.path().join("level.ron");
    let text = std::fs::read_to_string(&file).unwrap();
    let (_, body) = text.split_once('\n').unwrap();
    let padding = "    padding: 4,\n";
    assert_eq!(body.matches(padding).count(), 1);
    let body = body.replace(padding, "");
    let digest = blake3::hash(body.as_bytes()).to_hex();
    std::fs::write(&file, format!("// BLAKE3 of all that follows: {digest}\n{body}")).unwrap();
    let mut app = create_world_app();
    spawn_lit_floor(&mut app, 2.0, 100.0);
    spawn_baked_level(&mut app, folder.path());
    tick_app_until_lit(&mut app);
    assert_eq!(filters(&mut app), [false]);
    app.world_mut().resource_mut::<Lightmaps>().bicubic = false;
    tick_app_times(&mut app, 12);
    assert_eq!(filters(&mut app), [false]);
}
