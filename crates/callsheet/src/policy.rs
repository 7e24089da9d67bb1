//! Tool policies: what an agent may use, and how settings narrow it.
//!
//! One merged value is meant to drive the text of a prompt, the list of tools and their execution alike.

use serde::{Deserialize, Serialize};

/// Which groups of tools may be used, and how far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ToolPolicy {
    /// Reading and writing files.
    pub(crate) fs: FsPolicy,
    /// Tools of other servers.
    pub(crate) mcp: McpPolicy,
}

/// How files may be read and written; what is not said is left to the other side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FsPolicy {
    /// Whether the tools are there at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enabled: Option<bool>,
    /// The most bytes of one read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_read_bytes: Option<u64>,
    /// The most bytes of one write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_write_bytes: Option<u64>,
}

/// Which servers may be asked; what is not said is left to the other side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct McpPolicy {
    /// Whether servers may be asked at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enabled: Option<bool>,
    /// The names of the servers; an empty list lets none through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allowed_servers: Option<Vec<String>>,
}

impl ToolPolicy {
    /// Returns what holds where nobody says anything: files up to half a mebibyte read and two written, no servers.
    pub(crate) fn standard() -> Self {
        Self {
            fs: FsPolicy {
                enabled: Some(true),
                max_read_bytes: Some(524_288),
                max_write_bytes: Some(2_097_152),
            },
            mcp: McpPolicy {
                enabled: Some(false),
                allowed_servers: None,
            },
        }
    }

    /// Returns the policy with [`ToolPolicy::standard`] in the place of what it does not say.
    #[must_use]
    pub(crate) fn or_standard(self) -> Self {
        let standard = Self::standard();
        Self {
            fs: FsPolicy {
                enabled: self.fs.enabled.or(standard.fs.enabled),
                max_read_bytes: self.fs.max_read_bytes.or(standard.fs.max_read_bytes),
                max_write_bytes: self.fs.max_write_bytes.or(standard.fs.max_write_bytes),
            },
            mcp: McpPolicy {
                enabled: self.mcp.enabled.or(standard.mcp.enabled),
                allowed_servers: self.mcp.allowed_servers,
            },
        }
    }
}

/// Merges what settings allow with what an agent asks for: an agent can only tighten.
///
/// A group is on if both say so, a limit is the smaller one, and of two lists of servers only the common names are left.
/// What settings do not say is as in [`ToolPolicy::standard`].
pub(crate) fn merge(system: &ToolPolicy, agent: &ToolPolicy) -> ToolPolicy {
    let system = system.clone().or_standard();
    let both = |system: Option<bool>, agent: Option<bool>| {
        Some(system.unwrap_or(true) && agent.unwrap_or(true))
    };
    ToolPolicy {
        fs: FsPolicy {
            enabled: both(system.fs.enabled, agent.fs.enabled),
            max_read_bytes: least(system.fs.max_read_bytes, agent.fs.max_read_bytes),
            max_write_bytes: least(system.fs.max_write_bytes, agent.fs.max_write_bytes),
        },
        mcp: McpPolicy {
            enabled: both(system.mcp.enabled, agent.mcp.enabled),
            allowed_servers: match (system.mcp.allowed_servers, &agent.mcp.allowed_servers) {
                (Some(mut servers), Some(asked)) => {
                    servers.retain(|server| asked.contains(server));
                    Some(servers)
                }
                (one, other) => one.or_else(|| other.clone()),
            },
        },
    }
}

fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy(value: &serde_json::Value) -> ToolPolicy {
        serde_json::from_value(value.clone()).unwrap()
    }

    #[test]
    fn an_agent_can_only_tighten() {
        for (system, agent, expected) in [
            (
                json!({}),
                json!({}),
                json!({"fs": {"enabled": true, "maxReadBytes": 524_288, "maxWriteBytes": 2_097_152}, "mcp": {"enabled": false}}),
            ),
            (
                json!({"fs": {"enabled": false, "maxReadBytes": 5}, "mcp": {"enabled": true, "allowedServers": ["a", "b"]}}),
                json!({"fs": {"enabled": true, "maxReadBytes": 9}, "mcp": {"enabled": true, "allowedServers": ["c", "b"]}}),
                json!({"fs": {"enabled": false, "maxReadBytes": 5, "maxWriteBytes": 2_097_152}, "mcp": {"enabled": true, "allowedServers": ["b"]}}),
            ),
            (
                json!({}),
                json!({"fs": {"maxReadBytes": 1000}, "mcp": {"enabled": true}}),
                json!({"fs": {"enabled": true, "maxReadBytes": 1000, "maxWriteBytes": 2_097_152}, "mcp": {"enabled": false}}),
            ),
            (
                json!({"mcp": {"enabled": true}}),
                json!({"fs": {"maxWriteBytes": 1}, "mcp": {"allowedServers": []}}),
                json!({"fs": {"enabled": true, "maxReadBytes": 524_288, "maxWriteBytes": 1}, "mcp": {"enabled": true, "allowedServers": []}}),
            ),
        ] {
            let merged = merge(&policy(&system), &policy(&agent));
            assert_eq!(json!(merged), expected);
            assert_eq!(
                merge(&merged, &policy(&agent)),
                merged,
                "merging again changes nothing"
            );
        }
    }
}
