//! What a program says of itself, on every face alike.

/// What a program says of itself: the title and version of its OpenAPI document, the `serverInfo` of its MCP face, the
/// words of `--version`.
///
/// ```
/// use redress_contract::ProgramInfo;
///
/// let info = ProgramInfo::new("helpdesk", "0.3.0").with_description("Tickets, and who has them.");
/// assert_eq!(info.title(), "helpdesk"); // until somebody gives it another
/// assert_eq!(info.with_title("The helpdesk").title(), "The helpdesk");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramInfo {
    name: String,
    version: String,
    title: Option<String>,
    description: Option<String>,
}

impl ProgramInfo {
    /// A program of this name and version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> ProgramInfo {
        ProgramInfo { name: name.into(), version: version.into(), title: None, description: None }
    }

    /// Sets what people call it.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> ProgramInfo {
        self.title = Some(title.into()).filter(|title| !title.is_empty());
        self
    }

    /// Sets what it is for, in a sentence or two. An empty text is none, as Cargo gives it where a package says nothing.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> ProgramInfo {
        self.description = Some(description.into()).filter(|text| !text.trim().is_empty());
        self
    }

    /// Its name, for programs.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What people call it: its name, unless it has a title.
    pub fn title(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// Whether it has a title that is not its name.
    pub fn has_title(&self) -> bool {
        self.title.is_some()
    }

    /// What it is for, if anybody said.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }
}
