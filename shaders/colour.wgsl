// Colours, in linear Rec. 709.

/// Relative luminance: the twin of `scene::luminance`.
fn luminance(colour: vec3<f32>) -> f32 {
    return dot(colour, vec3(0.2126, 0.7152, 0.0722));
}
