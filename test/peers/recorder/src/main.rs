// Reads commands, one a line: `microseconds key max_burst count period quantity`. Prints what redis-cell and throttlecrab
// answer to each at that time: `limited limit remaining retry reset` of the one, then of the other. Times are microseconds;
// -1 is none.

use redis_cell::cell::{self, store::Store};
use redis_cell::error::CellError;
use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::time::{Duration, UNIX_EPOCH};
use throttlecrab::{PeriodicStore, RateLimiter};
use time::{Timespec, Tm};

/// A store for redis-cell whose time is what the line says. Keys go when their time is over, as they do in Redis.
#[derive(Default)]
struct TimedStore {
    micros: i64,
    values: HashMap<String, (i64, i64)>,
}

impl TimedStore {
    fn value(&self, key: &str) -> i64 {
        match self.values.get(key) {
            Some((value, ends)) if *ends > self.micros => *value,
            _ => -1,
        }
    }

    fn put(&mut self, key: &str, value: i64, ttl: time::Duration) {
        let ends = self.micros + ttl.num_microseconds().unwrap();
        self.values.insert(key.to_string(), (value, ends));
    }
}

impl Store for TimedStore {
    fn compare_and_swap_with_ttl(
        &mut self,
        key: &str,
        old: i64,
        new: i64,
        ttl: time::Duration,
    ) -> Result<bool, CellError> {
        if self.value(key) != old {
            return Ok(false);
        }
        self.put(key, new, ttl);
        Ok(true)
    }

    fn get_with_time(&self, key: &str) -> Result<(i64, Tm), CellError> {
        let nanos = (self.micros % 1_000_000) as i32 * 1000;
        Ok((self.value(key), time::at_utc(Timespec::new(self.micros / 1_000_000, nanos))))
    }

    fn log_debug(&self, _: &str) {}

    fn set_if_not_exists_with_ttl(
        &mut self,
        key: &str,
        value: i64,
        ttl: time::Duration,
    ) -> Result<bool, CellError> {
        if self.value(key) != -1 {
            return Ok(false);
        }
        self.put(key, value, ttl);
        Ok(true)
    }
}

fn main() {
    let mut cell_store = TimedStore::default();
    let mut crab = RateLimiter::new(PeriodicStore::new());
    let out = io::stdout();
    let mut out = out.lock();
    for line in io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let number = |i: usize| words[i].parse::<i64>().unwrap();
        let (micros, key, burst, count, period, quantity) =
            (number(0), words[1], number(2), number(3), number(4), number(5));
        cell_store.micros = micros;
        let quota = cell::RateQuota {
            max_burst: burst,
            max_rate: cell::Rate::per_period(count, time::Duration::seconds(period)),
        };
        let (limited, said) = cell::RateLimiter::new(&mut cell_store, &quota)
            .rate_limit(key, quantity)
            .ok()
            .unwrap();
        let retry = if limited && said.retry_after >= time::Duration::zero() {
            said.retry_after.num_microseconds().unwrap()
        } else {
            -1
        };
        let reset = said.reset_after.num_microseconds().unwrap();
        write!(out, "{} {} {} {} {}", limited as i64, said.limit, said.remaining, retry, reset).unwrap();
        let now = UNIX_EPOCH + Duration::from_micros(micros as u64);
        let (allowed, said) = crab
            .rate_limit(key, burst + 1, count, period, quantity, now)
            .unwrap();
        let retry = if allowed { -1 } else { said.retry_after.as_micros() as i64 };
        let reset = said.reset_after.as_micros() as i64;
        writeln!(out, " {} {} {} {} {}", !allowed as i64, said.limit, said.remaining, retry, reset).unwrap();
    }
}
