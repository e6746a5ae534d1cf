//! Tests of `render`.

use super::*;

#[test]
fn render_draws_what_a_closed_form_says() {
    let folder = folder();
    // All surfaces of the furnace have a radiance of one.
    let inside = ["--eye", "0,0,0.5", "--target", "0,0,-1", "--size", "24x16", "--samples", "256"];
    let arguments =
        |output: &'static str| [&["render", "builtin:furnace", "-o", output, "--json"][..], &inside].concat();
    let report = json(&run(&folder, &arguments("x.exr")));
    assert_eq!([&report["width"], &report["height"], &report["samples"]], [24, 16, 256]);
    assert_eq!(report["paths"], 24 * 16 * 256);
    // A luminance of one times 100 / 12.5 is EV 3.
    assert!((report["ev100"].as_f64().unwrap() - 3.0).abs() < 0.05, "{report}");
    let image = exr::prelude::read_first_rgba_layer_from_file(
        folder.path().join("x.exr"),
        |size, _| vec![(0.0, 0.0, 0.0); size.area()],
        |pixels, place, (r, g, b, _): (f32, f32, f32, f32)| pixels[place.y() * 24 + place.x()] = (r, g, b),
    );
    let pixels = image.unwrap().layer_data.channel_data.pixels;
    let mean = |of: fn(&(f32, f32, f32)) -> f32| pixels.iter().map(of).sum::<f32>() / pixels.len() as f32;
    for mean in [mean(|pixel| pixel.0), mean(|pixel| pixel.1), mean(|pixel| pixel.2)] {
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }
    json(&run(&folder, &arguments("x.png")));
    let picture = image::open(folder.path().join("x.png")).unwrap().to_rgb8();
    assert_eq!(picture.dimensions(), (24, 16));
    // One over 1.2 * 2^3, through Bevy's ACES fit and sRGB.
    let center = picture.get_pixel(12, 8).0;
    assert!(center.iter().all(|&byte| byte.abs_diff(60) < 4), "{center:?}");
    // A radiance of one at EV 0 is exposed to 1 / 1.2. Reinhard maps it to 1 / 2.2, which is 180 in sRGB.
    json(&run(&folder, &[&arguments("y.png")[..], &["--ev", "0", "--tonemapping", "reinhard"]].concat()));
    let picture = image::open(folder.path().join("y.png")).unwrap().to_rgb8();
    assert!(picture.get_pixel(12, 8).0.iter().all(|&byte| byte.abs_diff(180) < 4));
    assert_eq!(files(folder.path()), ["x.exr", "x.png", "y.png"]);
}

#[test]
fn noise_of_one_sample_is_unknown_and_a_dark_picture_is_said_to_be() {
    let folder = folder();
    let draw = |scene: &str, samples: &str| {
        run(&folder, &["render", scene, "-o", "x.png", "--size", "8x8", "--samples", samples, "--json"])
    };
    assert!(json(&draw("builtin:cornell_box", "1"))["error_estimate"].is_null());
    let two = json(&draw("builtin:cornell_box", "2"));
    assert!(two["error_estimate"].as_f64().unwrap() > 0.0);
    assert_eq!(two["warnings"].as_array().unwrap().len(), 0);
    write_triangle(&folder, "dark", GROUND, false);
    assert!(json(&draw("dark.gltf", "2"))["warnings"].to_string().contains("no light"));
}

#[test]
fn the_plain_integrator_draws_what_the_usual_one_draws_with_as_many_bounces() {
    let folder = folder();
    let draw = |more: &[&str]| {
        let inside = ["--eye", "0,0,0.5", "--target", "0,0,-1", "--size", "24x16", "--bounces", "2", "--json"];
        json(&run(&folder, &[&["render", "builtin:furnace"][..], &inside, more].concat()))
    };
    draw(&["-o", "path.exr", "--samples", "256"]);
    let report = draw(&["-o", "plain.exr", "--integrator", "plain", "--samples", "1024", "--reference", "path.exr"]);
    // Two bounces leave 1 - 0.8^3 = 0.488 of the brightest channel's light.
    assert!(report["relative_rmse"].as_f64().unwrap() < 0.04, "{report}");
    assert!(report["shown_rmse"].as_f64().unwrap() < 0.04, "{report}");
}

#[test]
fn render_says_what_it_cannot_draw() {
    let folder = folder();
    let complain = |more: &[&str]| complaint(&folder, &[&["render", "builtin:furnace"][..], more].concat());
    assert!(complain(&["-o", "x.bmp"]).contains("call it .png or .exr"));
    assert!(complain(&["-o", "x.png", "--camera", "hall"]).contains("no camera 'hall'"));
    assert!(complain(&["-o", "x.png", "--eye", "0,1"]).contains("is no point"));
    assert!(complain(&["-o", "x.png", "--eye", "0,0,0", "--target", "0,0,0"]).contains("cannot look at"));
    assert!(complain(&["-o", "x.png", "--fov", "200"]).contains("--fov 200"));
    assert!(complain(&["-o", "x.png", "--error", "0"]).contains("--error"));
    assert!(complain(&["-o", "x.png", "--lens", "1"]).contains("is no lens"));
    assert!(complain(&["-o", "x.png", "--tonemapping", "blender-filmic"]).contains("choose agx"));
    assert!(complain(&["-o", "x.png", "--integrator", "hybrid", "--resume"]).contains("leave out --resume"));
    // Refused before the image is rendered, which would take days.
    assert!(complain(&["-o", "nowhere/x.png", "--samples", "9999999"]).contains("nowhere"));
    let usage = run(&folder, &["render", "builtin:furnace", "-o", "x.png", "--size", "0x9"]);
    assert_eq!(usage.status.code(), Some(2));
    assert_eq!(files(folder.path()), [] as [&str; 0]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_writes_the_picture_as_far_as_it_is() {
    use std::io::{BufRead, BufReader, Read};
    let folder = folder();
    let arguments = ["render", "builtin:cornell_box", "-o", "x.png", "--size", "8x8", "--samples", "10000000"];
    let mut child = radiosity(&folder, &arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    output.read_line(&mut text).unwrap();
    assert!(text.starts_with("picture: 0 %"), "{text}");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    output.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(text.contains("8 x 8 pixels of ") && !text.contains("10000000"), "{text}");
    assert_eq!(files(folder.path())[..2], ["x.png", "x.png.checkpoint.bin"]);
}
