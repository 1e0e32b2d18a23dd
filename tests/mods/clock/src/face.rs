use std::time::{Duration, SystemTime};

use mod_interface::prelude::*;

const DAY: u64 = 24 * 60 * 60;

/// How a time looks.
pub(crate) struct Face {
    format: String,
    label: String,
    /// How far ahead of UTC, from 0 up to a day.
    ahead: u64,
}

impl Face {
    pub(crate) fn new(format: String, label: String, utc_offset: &str) -> Result<Self> {
        let wrong = || Error::msg(format!("an offset of UTC is as in +05:30, got: {utc_offset}"));
        Ok(Self { format, label, ahead: ahead(utc_offset).ok_or_else(wrong)? })
    }

    pub(crate) fn at(&self, time: SystemTime) -> String {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let second = (since.as_secs() % DAY + self.ahead) % DAY;
        let parts = [("%H", second / 3600), ("%M", second / 60 % 60), ("%S", second % 60)];
        let shown = parts
            .into_iter()
            .fold(self.format.clone(), |shown, (name, value)| shown.replace(name, &format!("{value:02}")));
        format!("{} {shown}", self.label)
    }
}

fn ahead(utc_offset: &str) -> Option<u64> {
    let (sign, clock) = utc_offset.split_at_checked(1)?;
    let (hours, minutes) = clock.split_once(':')?;
    let (hours, minutes): (u64, u64) = (hours.parse().ok()?, minutes.parse().ok()?);
    let seconds = (hours < 24 && minutes < 60).then_some(hours * 3600 + minutes * 60)?;
    match sign {
        "+" => Some(seconds),
        "-" => Some(DAY - seconds),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::Face;

    #[test]
    fn a_time_is_shown_where_it_is_told_to_be() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(20_000 * 86_400 + 23 * 3600 + 5 * 60 + 9);
        let shown = |offset| Face::new("%H.%M:%S".into(), "it is".into(), offset).unwrap().at(time);
        assert_eq!(shown("+00:00"), "it is 23.05:09");
        assert_eq!(shown("+05:30"), "it is 04.35:09");
        assert_eq!(shown("-23:59"), "it is 23.06:09");
        assert_eq!(shown("-00:00"), "it is 23.05:09");
    }

    #[test]
    fn an_offset_that_is_none_says_so() {
        for wrong in ["", "5", "05:30", "+24:00", "+00:60", "é1:00"] {
            let refused = Face::new(String::new(), String::new(), wrong).err().unwrap().to_string();
            assert_eq!(refused, format!("an offset of UTC is as in +05:30, got: {wrong}"));
        }
    }
}
