// Colors in linear Rec. 709.

/// Returns the relative luminance; counterpart of `scene::luminance`.
fn luminance(color: vec3<f32>) -> f32 {
    return dot(color, vec3(0.2126, 0.7152, 0.0722));
}
