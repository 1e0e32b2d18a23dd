//! Two-part versions: the interface a mod was built for, the glibc it needs.

/// A version of two numbers, major first.
pub type MajorMinor = (u32, u32);

/// Reads `1.0`; anything else, `1` and `1.0.0` included, is `None`.
pub fn parse(text: &str) -> Option<MajorMinor> {
    let (major, minor) = text.split_once('.')?;
    Some((number(major)?, number(minor)?))
}

/// Writes `1.0`.
pub fn show((major, minor): MajorMinor) -> String {
    format!("{major}.{minor}")
}

/// One way to write a number, so that equal versions are equal text.
fn number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    plain.then(|| text.parse().ok()).flatten()
}

/// For `#[serde(with)]` on a field.
pub(crate) mod text {
    use super::MajorMinor;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(value: &MajorMinor, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::show(*value))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MajorMinor, D::Error> {
        let text = String::deserialize(deserializer)?;
        super::parse(&text)
            .ok_or_else(|| D::Error::custom(format!("expected a version like \"1.0\", got: {text}")))
    }
}

/// For `#[serde(with)]` on an optional field.
pub(crate) mod optional_text {
    use super::MajorMinor;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Text(#[serde(with = "super::text")] MajorMinor);

    pub(crate) fn serialize<S: Serializer>(
        value: &Option<MajorMinor>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.map(Text).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<MajorMinor>, D::Error> {
        Ok(Option::<Text>::deserialize(deserializer)?.map(|text| text.0))
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, show};

    #[test]
    fn two_numbers_are_read_and_written_back() {
        assert_eq!(parse("1.0"), Some((1, 0)));
        assert_eq!(parse("2.34"), Some((2, 34)));
        assert_eq!(show((2, 34)), "2.34");
    }

    #[test]
    fn other_shapes_are_not_versions() {
        for text in ["", "1", "1.", ".1", "1.0.0", "+1.0", "01.0", "1.00", "1.x", "4294967296.0"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
