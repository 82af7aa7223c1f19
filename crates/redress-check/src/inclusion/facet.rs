//! In which respect one schema admits what another does not. Each facet is two rules: it narrowed, or it widened.

/// A respect in which schemas are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Facet {
    /// `type`.
    Type,
    /// `enum` and `const`.
    Enum,
    /// `minimum`, `maximum` and their exclusive siblings.
    Bound,
    /// `multipleOf`.
    Multiple,
    /// `minLength` and `maxLength`.
    Length,
    /// `pattern`.
    Pattern,
    /// `format`.
    Format,
    /// `contentEncoding`, `contentMediaType`, `contentSchema`.
    Encoding,
    /// `required`.
    Required,
    /// Whether members are taken that nobody names.
    Additional,
    /// `propertyNames` and `patternProperties`.
    MemberNames,
    /// `minProperties` and `maxProperties`.
    MemberCount,
    /// `dependentRequired` and `dependentSchemas`.
    Dependency,
    /// `minItems` and `maxItems`.
    ItemCount,
    /// `uniqueItems`.
    UniqueItems,
    /// `contains` with its counts.
    Contains,
    /// `items` and `prefixItems` that refuse every value.
    Items,
    /// `anyOf` and `oneOf`.
    Alternatives,
    /// `not`.
    Exclusion,
    /// `if`, `then` and `else`.
    Condition,
    /// `unevaluatedProperties` and `unevaluatedItems`.
    Unevaluated,
    /// What is too deep, too large or refers to nothing.
    Unclear,
}

/// Where in a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PlaceStep {
    /// The member of an object.
    Member(String),
    /// The members that nobody names.
    OtherMembers,
    /// The items of an array.
    Items,
}

/// Where one schema admits something that another does not, as far as can be told from the schemas.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Obstacle {
    pub(crate) facet: Facet,
    pub(crate) place: Vec<PlaceStep>,
    /// What the smaller schema says there, as it is shown; empty where it says nothing.
    pub(crate) admitted: String,
    /// What the larger one says there.
    pub(crate) wanted: String,
}

impl Obstacle {
    /// What is said of a member that is admitted on one side and has no name on the other.
    pub(crate) const TAKEN: &'static str = "taken";
}

/// A place as a pointer: `/lines/*/amount`.
pub(crate) fn pointer(place: &[PlaceStep]) -> String {
    let mut made = String::new();
    for step in place {
        made.push('/');
        match step {
            PlaceStep::Member(name) => made.push_str(&name.replace('~', "~0").replace('/', "~1")),
            PlaceStep::OtherMembers | PlaceStep::Items => made.push('*'),
        }
    }
    made
}
