use crate::{agent::Rule, settings, tools::ToolSet};

/// What is told of rules that hold for nothing, one line each: a deny rule that was mistyped denies nothing.
pub(super) fn idle<'a>(
    rules: impl Iterator<Item = &'a Rule>,
    tools: &ToolSet,
    home_is_known: bool,
) -> Vec<String> {
    let specs = tools.specs();
    let names = || specs.iter().map(|spec| spec.name.as_str());
    let told = rules.filter_map(|rule| {
        // A star may stand for tools that come with other mods.
        if !rule.tool().contains('*') && names().all(|name| name != rule.tool()) {
            let hint = settings::nearest(rule.tool(), names());
            let hint = hint.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            return Some(format!("a permission rule names no tool of this session: {rule}{hint}"));
        }
        let in_home = rule.pattern().is_some_and(|pattern| pattern == "~" || pattern.starts_with("~/"));
        (in_home && !home_is_known)
            .then(|| format!("a permission rule names the home folder, and HOME is not set: {rule}"))
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::builtin;

    #[test]
    fn a_rule_that_holds_for_nothing_is_told() {
        let tools = ToolSet::default();
        builtin().into_iter().for_each(|tool| tools.add(tool, "cmd").unwrap());
        let rules = ["red_file(secrets/**)", "xyz", "read_file", "mcp_*", "write_file(~/x)"];
        let rules: Vec<Rule> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let mistyped = [
            "a permission rule names no tool of this session: red_file(secrets/**); did you mean read_file?",
            "a permission rule names no tool of this session: xyz",
        ];
        assert_eq!(idle(rules.iter(), &tools, true), mistyped);
        let homeless = "a permission rule names the home folder, and HOME is not set: write_file(~/x)";
        assert_eq!(idle(rules.iter(), &tools, false), [mistyped.as_slice(), &[homeless]].concat());
    }
}
