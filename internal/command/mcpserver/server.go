// SPDX-License-Identifier: Apache-2.0

// Package mcpserver offers prywalk's commands as tools of the Model Context Protocol.
//
// A tool is one command line, run as a process, except the lists of processes and of recordings. The server limits
// time, length of answers and concurrent commands. Recordings are files in one directory. Without Tools.AllowRecord
// no tool writes a file.
//
// Sources: modelcontextprotocol.io, and the protocol's official SDK for Go.
package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"prywalk/internal/host/selection"
	"prywalk/internal/show/view"
)

// maxAnswerBytes limits an answer, with the line on what was left out.
const maxAnswerBytes = 32 << 10

const (
	maxRecordSeconds = 300
	commandTimeout   = time.Minute
	// Each of maxConcurrentCommands may use --max-memory.
	maxConcurrentCommands = 4
)

// Tools are the tools of a server, and what restricts them.
type Tools struct {
	Dir         string // of recordings
	AllowRecord bool   // a tool writes recordings
	// Run runs prywalk with files as its descriptors from 3 on. The error is of the start.
	Run       func(ctx context.Context, files []*os.File, args ...string) (output string, code int, err error)
	Processes func() []selection.Process

	slots chan struct{} // of running commands
}

// New returns a server of all tools.
func New(version string, t Tools) *mcp.Server {
	t.slots = make(chan struct{}, maxConcurrentCommands)
	s := mcp.NewServer(&mcp.Implementation{Name: "prywalk", Version: version}, &mcp.ServerOptions{
		Instructions: "Where a process spends CPU time, what its threads wait for, and who holds the locks. Begin with " +
			"list_processes and dump; report reads a recording."})
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(s, &mcp.Tool{Name: "list_processes", Annotations: reads,
		Description: "List running processes with pid and command line."}, t.listProcesses)
	mcp.AddTool(s, &mcp.Tool{Name: "dump", Annotations: reads,
		Description: "Show the stacks of all threads of a process now, equal stacks together; with locks: which locks " +
			"threads wait for, who holds them, and deadlocks. Running threads are stopped, mostly for less than 1 ms."},
		t.dump)
	mcp.AddTool(s, &mcp.Tool{Name: "doctor", Annotations: reads,
		Description: "Show what the kernel allows for a process, and the remedy for what it does not."}, t.doctor)
	mcp.AddTool(s, &mcp.Tool{Name: "list_recordings", Annotations: reads,
		Description: "List the recordings that report and diff can read."}, t.listRecordings)
	mcp.AddTool(s, &mcp.Tool{Name: "report", Annotations: reads,
		Description: "Show where the time of a recording goes: functions, waits, threads, callers. Choices of by: " +
			strings.Join(view.Groupings(), ", ") + " or label:NAME."}, t.report)
	mcp.AddTool(s, &mcp.Tool{Name: "diff", Annotations: reads,
		Description: "Compare two recordings: what became slower or faster."}, t.diff)
	if t.AllowRecord {
		mcp.AddTool(s, &mcp.Tool{Name: "record",
			Description: "Sample a process for some seconds into a recording."}, t.record)
	}
	return s
}

type target struct {
	PID int `json:"pid" jsonschema:"process id"`
}

func (t target) flag() (string, error) {
	if t.PID <= 0 {
		return "", fmt.Errorf("pid %d: give the number of a running process; list_processes has them", t.PID)
	}
	return strconv.Itoa(t.PID), nil
}

func (t *Tools) dump(ctx context.Context, _ *mcp.CallToolRequest, in struct {
	target
	Locks    bool `json:"locks,omitempty" jsonschema:"show locks, their owners and deadlocks in place of all stacks"`
	MaxDepth int  `json:"max_depth,omitempty" jsonschema:"frames of a stack, 0 for all"`
}) (*mcp.CallToolResult, any, error) {
	pid, err := in.flag()
	if err = cmp.Or(err, checkNotNegative("max_depth", in.MaxDepth)); err != nil {
		return nil, nil, err
	}
	if in.Locks {
		return t.runCommand(ctx, nil, "What an owner does: dump without locks.", "dump", "-p", pid, "--locks")
	}
	return t.runCommand(ctx, nil, "Threads that wait for locks: dump with locks. Where the time goes: record, report.",
		"dump", "-p", pid, "--merge", "--max-depth", strconv.Itoa(in.MaxDepth))
}

func (t *Tools) doctor(ctx context.Context, _ *mcp.CallToolRequest, in target) (*mcp.CallToolResult, any, error) {
	pid, err := in.flag()
	if err != nil {
		return nil, nil, err
	}
	return t.runCommand(ctx, nil, "", "doctor", "-p", pid)
}

func (t *Tools) report(ctx context.Context, _ *mcp.CallToolRequest, in struct {
	File    string `json:"file" jsonschema:"name of a recording, of list_recordings"`
	By      string `json:"by,omitempty" jsonschema:"group by one of the choices in the description"`
	Value   string `json:"value,omitempty" jsonschema:"clock: cpu, wall, runqueue, blocked or samples"`
	Rows    int    `json:"rows,omitempty" jsonschema:"rows of the table, 30 unless given"`
	Callers string `json:"callers,omitempty" jsonschema:"show who called this function"`
	Callees string `json:"callees,omitempty" jsonschema:"show what this function called"`
	Focus   string `json:"focus,omitempty" jsonschema:"only stacks with a function, file or module that matches"`
	Thread  string `json:"thread,omitempty" jsonschema:"only threads whose name or number matches"`
	From    string `json:"from,omitempty" jsonschema:"leave out what was before: 2s of the recording, or 03:00 of the day"`
	To      string `json:"to,omitempty" jsonschema:"leave out what came after"`
	Blame   bool   `json:"blame,omitempty" jsonschema:"what the owners of locks did while others waited"`
}) (*mcp.CallToolResult, any, error) {
	if err := checkNotNegative("rows", in.Rows); err != nil {
		return nil, nil, err
	}
	var args []string
	for _, flag := range []struct{ name, value string }{
		{"by", in.By}, {"value", in.Value}, {"callers", in.Callers}, {"callees", in.Callees},
		{"focus", in.Focus}, {"thread", in.Thread}, {"from", in.From}, {"to", in.To},
	} {
		if flag.value != "" {
			args = append(args, "--"+flag.name+"="+flag.value)
		}
	}
	if in.Rows > 0 {
		args = append(args, "--rows="+strconv.Itoa(in.Rows))
	}
	if in.Blame {
		args = append(args, "--blame")
	}
	return t.runCommand(ctx, []string{in.File},
		"Who calls a function: report with callers. What threads wait for: report with by=wait.", "report", args...)
}

func (t *Tools) diff(ctx context.Context, _ *mcp.CallToolRequest, in struct {
	Old string `json:"old" jsonschema:"name of the earlier recording"`
	New string `json:"new" jsonschema:"name of the later recording"`
	Per string `json:"per,omitempty" jsonschema:"compare run, second or share"`
}) (*mcp.CallToolResult, any, error) {
	var args []string
	if in.Per != "" {
		args = append(args, "--per="+in.Per)
	}
	return t.runCommand(ctx, []string{in.Old, in.New},
		"Who calls what became slower: report with callers, on the later recording.", "diff", args...)
}

func (t *Tools) record(ctx context.Context, _ *mcp.CallToolRequest, in struct {
	target
	Seconds int    `json:"seconds" jsonschema:"how long, 1 to 300"`
	File    string `json:"file,omitempty" jsonschema:"name of the recording, such as slow.pb.gz"`
}) (*mcp.CallToolResult, any, error) {
	pid, err := in.flag()
	if err != nil {
		return nil, nil, err
	}
	if in.Seconds < 1 || in.Seconds > maxRecordSeconds {
		return nil, nil, fmt.Errorf("seconds %d: give 1 to %d", in.Seconds, maxRecordSeconds)
	}
	name := in.File
	if name == "" {
		name = "mcp-" + pid + recordingSuffix
	}
	if err := t.checkNewName(name); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(in.Seconds)*time.Second+commandTimeout)
	defer cancel()
	return t.runCommand(ctx, nil, "Where the time went: report with file="+name+".",
		"record", "-p", pid, "-d", strconv.Itoa(in.Seconds), "-o",
		strings.ReplaceAll(filepath.Join(t.Dir, name), "%", "%%"))
}

func checkNotNegative(name string, n int) error {
	if n >= 0 {
		return nil
	}
	return fmt.Errorf("%s %d: give 0 or more", name, n)
}
