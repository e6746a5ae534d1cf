//! Memory of the machine.

use std::sync::OnceLock;

use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

/// Memory that is used on a machine that does not tell its memory, MiB. A browser has 4 GiB of addresses for everything.
const UNKNOWN_MIB: u32 = if cfg!(target_pointer_width = "32") { 1024 } else { 4096 };

/// Returns the default memory limit, MiB: three quarters of the machine's memory. A smaller limit of the process'
/// control group counts instead. The system is asked once.
pub fn usual_memory_mib() -> u32 {
    static USUAL: OnceLock<u32> = OnceLock::new();
    *USUAL.get_or_init(|| usual_of(memory_bytes()))
}

/// Returns three quarters of the smaller known amount of bytes, in MiB.
fn usual_of(amounts: [Option<u64>; 2]) -> u32 {
    let minimum = amounts.into_iter().flatten().filter(|&bytes| bytes > 0).min();
    minimum.map_or(UNKNOWN_MIB, |bytes| u32::try_from((bytes >> 20) / 4 * 3).unwrap_or(u32::MAX))
}

/// Returns the machine's memory and the limit of the process' control group, bytes.
fn memory_bytes() -> [Option<u64>; 2] {
    let Ok(mut system) = System::new() else { return [None; 2] };
    system.refresh_memory();
    [Some(system.total_memory()), limit_of_group(&mut system)]
}

fn limit_of_group(system: &mut System) -> Option<u64> {
    let process = sysinfo::get_current_pid().ok()?;
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[process]), false, ProcessRefreshKind::nothing());
    Some(system.process(process)?.cgroup_limits()?.total_memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn three_quarters_of_what_the_process_may_have_are_used() {
        assert_eq!(usual_of([Some(24 * GIB), None]), 18 * 1024);
        assert_eq!(usual_of([Some(24 * GIB), Some(2 * GIB)]), 1536);
        assert_eq!(usual_of([Some(2 * GIB), Some(u64::MAX)]), 1536);
        assert_eq!(usual_of([Some(0), None]), UNKNOWN_MIB);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_machine_has_as_much_memory_as_the_kernel_says() {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap();
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap();
        let kibibytes: u64 = total.trim().strip_suffix(" kB").unwrap().trim().parse().unwrap();
        assert_eq!(memory_bytes()[0], Some(kibibytes * 1024));
        assert!(u64::from(usual_memory_mib()) <= kibibytes / 1024);
    }
}
