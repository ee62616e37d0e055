// SPDX-License-Identifier: Apache-2.0

// Package mcpserver offers prywalk's commands as tools of the Model Context Protocol.
//
// A tool is one command line, run as a process, except the lists of processes and of recordings. The server limits
// time, length of answers and concurrent commands. Recordings are files in one directory. Without Options.AllowRecord
// no tool writes a file.
//
// Sources: modelcontextprotocol.io, and the protocol's official SDK for Go.
package mcpserver
