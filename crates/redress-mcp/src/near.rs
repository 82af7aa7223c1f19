//! What is near to a wrong name.

/// How many near names a model is told.
const SHOWN: usize = 3;

/// Those of `names` that are nearest to a wrong one, the nearest first. Models write the names of operations for those of tools.
pub(crate) fn near<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut near = redress_core::nearest_names(&wrong.replace('.', "_"), names);
    near.truncate(SHOWN);
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_name_has_near_ones() {
        let names = ["files_read", "files_list", "files_remove", "orders_refund"];
        let near = near("files.raed", names.into_iter());
        assert_eq!((near[0].as_str(), near.contains(&"orders_refund".to_owned())), ("files_read", false));
    }
}
