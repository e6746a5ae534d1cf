// Ray tracing through the cells of a partition; counterpart of `partition::tracer::trace`.
//
// A ray is tested against all coarse surfaces of a cell. A ray without a hit continues in the cell behind the border
// through which the ray leaves. Cells also list surfaces that are close enough for rounding of hit points to matter.

/// One cell.
struct Cell {
    /// Minimum corner, in meters.
    low: vec3<f32>,
    /// Start of its coarse surfaces in `indices`.
    first_surface: u32,
    /// Maximum corner, in meters.
    high: vec3<f32>,
    end_surface: u32,
    /// Starts of the border ranges of the six faces. Each range ends where the next one starts.
    borders: array<u32, 8>,
}

/// Virtual element of a border: a part of a cell's face, with the one cell behind.
struct Border {
    /// Extent on the two axes that follow the perpendicular axis cyclically, in meters.
    low: vec2<f32>,
    high: vec2<f32>,
    beyond: u32,
    padding_0: u32,
    padding_1: u32,
    padding_2: u32,
}

/// One coarse surface.
struct CoarseSurface {
    normal: vec3<f32>,
    /// Start of its outline in `corners`.
    first_corner: u32,
    /// A point in the surface's plane.
    anchor: vec3<f32>,
    end_corner: u32,
    /// Minimum corner of the lookup grid, in projected coordinates.
    lattice_low: vec2<f32>,
    /// Grid cells per meter.
    lattice_scale: vec2<f32>,
    /// Number of columns and rows of the lookup grid.
    lattice_size: vec2<u32>,
    /// Offset in `indices` of the range ends of the grid cells' triangle lists.
    lattice: u32,
    /// Projection axis.
    axis: u32,
}

/// One fine triangle.
struct FineTriangle {
    a: vec3<f32>,
    /// Number of parts per edge; each side has the square of that many elements.
    divisions: u32,
    b: vec3<f32>,
    /// First element. Front-side elements come first.
    first_element: u32,
    c: vec3<f32>,
    /// Number of sides with elements.
    sides: u32,
}

/// Hit of a ray, and the work done to find the hit.
struct CellHit {
    t: f32,
    /// Index of the fine triangle; `NONE` without a hit.
    triangle: u32,
    /// Weights of the fine triangle's second and third corner.
    barycentric: vec2<f32>,
    /// True if the ray hit the back.
    back: bool,
    /// Number of cells visited.
    cells: u32,
    /// Number of coarse surfaces tested.
    surfaces: u32,
    /// Number of borders tested to find the next cells.
    borders: u32,
}

/// Exit of a ray from a cell.
struct Exit {
    t: f32,
    /// Index of the face: axis by axis, lower before upper.
    face: u32,
}

/// Null index.
const NONE: u32 = 0xffffffffu;
/// Maximum float.
const FARTHEST: f32 = 3.4028234e38;
/// Maximum number of cells of a partition. No ray enters a cell twice.
const CELL_LIMIT: u32 = 65536u;

@group(0) @binding(2) var<storage, read> cells: array<Cell>;
@group(0) @binding(3) var<storage, read> borders: array<Border>;
@group(0) @binding(4) var<storage, read> surfaces: array<CoarseSurface>;
@group(0) @binding(5) var<storage, read> indices: array<u32>;
@group(0) @binding(6) var<storage, read> corners: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read> triangles: array<FineTriangle>;

/// Returns the coordinates on the two axes that follow `axis` cyclically.
fn across(v: vec3<f32>, axis: u32) -> vec2<f32> {
    return select(select(v.xy, v.zx, axis == 1u), v.yz, axis == 0u);
}

fn exit_of(cell: u32, origin: vec3<f32>, direction: vec3<f32>) -> Exit {
    let planes = select(cells[cell].low, cells[cell].high, direction > vec3(0.0));
    let is_across = direction == vec3(0.0);
    let t = select((planes - origin) / select(direction, vec3(1.0), is_across), vec3(FARTHEST), is_across);
    var exit = Exit(FARTHEST, 0u);
    if t.x < exit.t {
        exit = Exit(t.x, select(0u, 1u, direction.x > 0.0));
    }
    if t.y < exit.t {
        exit = Exit(t.y, select(2u, 3u, direction.y > 0.0));
    }
    if t.z < exit.t {
        exit = Exit(t.z, select(4u, 5u, direction.z > 0.0));
    }
    return exit;
}

/// Returns the cell behind the border through which a ray leaves a cell, or `NONE` at the end of the partition. The
/// second component is the number of borders tested.
fn behind(cell: u32, exit: Exit, origin: vec3<f32>, direction: vec3<f32>) -> vec2<u32> {
    let axis = exit.face / 2u;
    let at = across(origin, axis) + across(direction, axis) * exit.t;
    let first = cells[cell].borders[exit.face];
    let end = cells[cell].borders[exit.face + 1u];
    var next = NONE;
    var nearest = FARTHEST;
    var border = first;
    while border < end {
        let outside = max(max(borders[border].low - at, at - borders[border].high), vec2(0.0));
        let distance = outside.x + outside.y;
        if distance < nearest {
            next = borders[border].beyond;
            nearest = distance;
        }
        border++;
        if distance <= 0.0 {
            break;
        }
    }
    return vec2(next, border - first);
}

/// Returns true if a ray passes through a surface's outline, by its nonzero winding number. Contributions of shared
/// edges cancel bit for bit.
fn encloses(surface: u32, ray: ShearedRay, origin: vec3<f32>) -> bool {
    let first = surfaces[surface].first_corner;
    let end = surfaces[surface].end_corner;
    var winding = 0i;
    var start = sheared(ray, origin, corners[end - 1u].xyz);
    for (var corner = first; corner < end; corner++) {
        let to = sheared(ray, origin, corners[corner].xyz);
        let starts_above = start.y > 0.0;
        let ends_above = to.y > 0.0;
        if starts_above != ends_above {
            let side = edge(start, to);
            winding += i32(ends_above && side > 0.0) - i32(starts_above && side < 0.0);
        }
        start = to;
    }
    return winding != 0i;
}

/// Returns the closest hit of a ray that starts in a known cell.
fn closest_in_cells(ray: Ray, first: u32) -> CellHit {
    let prepared = sheared_ray(ray);
    var hit = CellHit(ray.t_max, NONE, vec2(0.0), false, 0u, 0u, 0u);
    var cell = first;
    var hit_surface = NONE;
    // Backs count a little farther away, so that the front wins of two faces in one place.
    var nearest = FARTHEST;
    while hit.cells < CELL_LIMIT {
        let exit = exit_of(cell, ray.origin, ray.direction);
        // Hits beyond the last cell are due to rounding, and count.
        let is_last = cells[cell].borders[exit.face] == cells[cell].borders[exit.face + 1u];
        let limit = min(select(exit.t, FARTHEST, is_last), ray.t_max);
        hit.cells++;
        let end = cells[cell].end_surface;
        for (var place = cells[cell].first_surface; place < end; place++) {
            hit.surfaces++;
            let surface = indices[place];
            let normal = surfaces[surface].normal;
            let slope = dot(normal, ray.direction);
            if slope == 0.0 {
                continue;
            }
            let t = dot(normal, surfaces[surface].anchor - ray.origin) / slope;
            let counted = select(t, t + twin_gap(ray, t), slope > 0.0);
            let is_nearer = counted < nearest || (counted == nearest && surface < hit_surface);
            if t >= ray.t_min && t <= limit && is_nearer && encloses(surface, prepared, ray.origin) {
                hit.t = t;
                nearest = counted;
                hit_surface = surface;
            }
        }
        if hit_surface != NONE || is_last || exit.t >= ray.t_max {
            break;
        }
        let next = behind(cell, exit, ray.origin, ray.direction);
        hit.borders += next.y;
        cell = next.x;
    }
    if hit_surface != NONE {
        find_triangle(&hit, ray, hit_surface);
    }
    return hit;
}

/// Finds the fine triangle at a hit: among the candidates of the grid cell, the one that contains the point most
/// deeply.
fn find_triangle(hit: ptr<function, CellHit>, ray: Ray, surface: u32) {
    let axis = surfaces[surface].axis;
    let at = across(ray.origin + ray.direction * (*hit).t, axis);
    let place = max((at - surfaces[surface].lattice_low) * surfaces[surface].lattice_scale, vec2(0.0));
    let size = surfaces[surface].lattice_size;
    let field = min(u32(place.y), size.y - 1u) * size.x + min(u32(place.x), size.x - 1u);
    let list = surfaces[surface].lattice + field;
    var deepest = -FARTHEST;
    let end = indices[list + 1u];
    for (var entry = indices[list]; entry < end; entry++) {
        let triangle = indices[entry];
        let a = across(triangles[triangle].a, axis);
        let ab = across(triangles[triangle].b, axis) - a;
        let ac = across(triangles[triangle].c, axis) - a;
        let ap = at - a;
        let weights = vec2(ap.x * ac.y - ap.y * ac.x, ab.x * ap.y - ab.y * ap.x) / (ab.x * ac.y - ab.y * ac.x);
        let depth = min(min(weights.x, weights.y), 1.0 - weights.x - weights.y);
        if depth > deepest {
            deepest = depth;
            (*hit).triangle = triangle;
            (*hit).barycentric = weights;
        }
    }
    (*hit).back = dot(surfaces[surface].normal, ray.direction) > 0.0;
}

/// Returns the cell that contains the point `end`, searched from a nearby point in a known cell.
fn cell_towards(start: vec3<f32>, end: vec3<f32>, first: u32) -> u32 {
    var cell = first;
    for (var step = 0u; step < CELL_LIMIT; step++) {
        let exit = exit_of(cell, start, end - start);
        if exit.t >= 1.0 {
            break;
        }
        let next = behind(cell, exit, start, end - start).x;
        if next == NONE {
            break;
        }
        cell = next;
    }
    return cell;
}
