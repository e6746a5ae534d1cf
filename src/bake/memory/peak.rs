//! Peak memory of the process.

/// Returns the peak memory of this process, bytes; zero where the system does not tell.
pub fn peak_memory_bytes() -> u64 {
    std::fs::read_to_string("/proc/self/status").ok().and_then(|status| peak_in_status(&status)).unwrap_or(0)
}

/// Reads the high-water mark out of Linux' `/proc/self/status`.
fn peak_in_status(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_in_bytes() {
        assert_eq!(peak_in_status("Name:\tbake\nVmHWM:\t    2048 kB\nThreads:\t1\n"), Some(2 * 1024 * 1024));
        assert_eq!(peak_in_status("nothing here"), None);
    }
}
