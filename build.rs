//! Compiles xatlas where the feature asks for it; otherwise there is nothing to do.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "xatlas")]
    xatlas();
}

#[cfg(feature = "xatlas")]
fn xatlas() {
    println!("cargo::rerun-if-changed=vendor/xatlas");
    cc::Build::new()
        .cpp(true)
        .std("c++14")
        .flag_if_supported("-ffp-contract=off")
        .flag_if_supported("-fwrapv")
        .warnings(false)
        .file("vendor/xatlas/shim.cpp")
        .compile("radiosity_xatlas");
}
