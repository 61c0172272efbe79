//! CPU time of the process, all threads, for figures in reports. Never decides a verdict.

/// Seconds of user and system time so far; 0 where the platform does not tell.
pub fn seconds() -> f64 {
    cpu_time::ProcessTime::try_now().map_or(0.0, |time| time.as_duration().as_secs_f64())
}
