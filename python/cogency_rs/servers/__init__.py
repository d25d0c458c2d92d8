"""Servers of tools that speak MCP, and tools served by it. The package `mcp` is imported when a server is started."""

from .group import ServerGroup, load_mcp_config
from .tool import MCPTool

__all__ = ["MCPTool", "ServerGroup", "load_mcp_config"]
