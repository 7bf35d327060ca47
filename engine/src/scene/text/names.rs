//! What somebody may have meant by a name that is not known.

/// The known name that is nearest to `given`, where one is near: letters in another case, or few edits away.
fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = given.to_lowercase();
    // Of a name of two letters, one edit leaves too little.
    let length = given.chars().count();
    let edits_max = if length < 3 { 0 } else { (length / 3).max(1) };
    let distance = |name: &str| strsim::damerau_levenshtein(&lower, &name.to_lowercase());
    // The first of equals wins, so the answer depends on the order of the known names alone.
    let near = known.into_iter().map(|name| (distance(name), name)).min_by_key(|(edits, _)| *edits);
    near.filter(|(edits, _)| *edits <= edits_max).map(|(_, name)| name)
}

/// The end of a message about an unknown name: the nearest one, or all that are known where none is near.
pub(crate) fn suggestion<'a>(given: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(given, known.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("known: {}", name_list(known)),
    }
}

/// Names in backticks, with commas; of many, the first few.
fn name_list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN_MAX: usize = 12;
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => "none".to_owned(),
        count if count <= SHOWN_MAX => names.join(", "),
        count => format!("{}, … ({count} in all)", names[..SHOWN_MAX].join(", ")),
    }
}
