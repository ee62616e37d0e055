// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
)

// runCommand passes recordings as the first arguments. A failed command's answer is its message.
func (t *Tools) runCommand(ctx context.Context, recordings []string, next, command string, args ...string) (
	*mcp.CallToolResult, any, error,
) {
	var files []*os.File
	var paths, names []string
	for i, name := range recordings {
		f, err := t.open(name)
		if err != nil {
			return nil, nil, err
		}
		defer f.Close()
		files = append(files, f)
		paths = append(paths, fmt.Sprintf("/dev/fd/%d", 3+i))
		names = append(names, paths[i], printable.Line(name))
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, commandTimeout)
		defer cancel()
	}
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("%d other commands run: ask again later", maxConcurrentCommands)
	}
	output, code, err := t.Run(ctx, files, slices.Concat([]string{command}, paths, args)...)
	if err != nil {
		return nil, nil, fmt.Errorf("prywalk %s could not be run: %w", command, err)
	}
	output = strings.NewReplacer(names...).Replace(output)
	failed := code != errs.ExitOK && code != errs.ExitDeadlock && code != errs.ExitNoSamples
	if failed {
		next = ""
	}
	if failed && ctx.Err() != nil {
		output = fmt.Sprintf("prywalk %s was ended: it took too long\n%s", command, output)
	}
	answer := text(truncated(output, next))
	answer.IsError = failed
	return answer, nil, nil
}

// truncated cuts after a line if possible: with next the text has at most maxAnswerBytes.
func truncated(text, next string) string {
	tail := ""
	if next != "" {
		tail = "\nNext: " + next + "\n"
	}
	text = strings.ToValidUTF8(strings.TrimRight(text, "\n")+"\n", "\ufffd")
	const reserve = 100 // for the note below
	most := maxAnswerBytes - len(tail)
	if len(text) <= most {
		return text + tail
	}
	kept, end := text[:most-reserve], "\n"
	if at := strings.LastIndexByte(kept, '\n'); at >= 0 {
		kept, end = kept[:at+1], ""
	}
	return fmt.Sprintf("%s%s… %d more lines were left out; ask with fewer rows or a filter\n%s",
		strings.ToValidUTF8(kept, ""), end, strings.Count(text[len(kept):], "\n"), tail)
}

const recordingSuffix = ".pb.gz"

// open refuses paths and symbolic links that lead out of the directory. It does not block at a pipe.
func (t *Tools) open(name string) (*os.File, error) {
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("recording %q: %w; list_recordings has the names", name, err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("recording %q is not a regular file; list_recordings has the names", name)
	}
	return f, nil
}

// checkNewName returns why no recording of that name may be written, or nil.
func (t *Tools) checkNewName(name string) error {
	if filepath.Base(name) != name || !strings.HasSuffix(name, recordingSuffix) || strings.Contains(name, "%") ||
		printable.Line(name) != name {
		return fmt.Errorf("file %.200q: give a plain name that ends in %s", name, recordingSuffix)
	}
	info, err := os.Lstat(filepath.Join(t.Dir, name))
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("file %q is there, and no regular file: give another name", name)
	}
	return nil
}

func (t *Tools) listRecordings(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
	entries, err := os.ReadDir(t.Dir)
	if err != nil {
		return nil, nil, err
	}
	var b strings.Builder
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.Contains(e.Name(), ".pb") {
			continue
		}
		printable.Fprintf(&b, "%s  %d bytes  %s\n", e.Name(), info.Size(), info.ModTime().UTC().Format(time.RFC3339))
	}
	if b.Len() == 0 {
		b.WriteString("no recordings\n")
	}
	return text(truncated(b.String(), "Where the time goes: report.")), nil, nil
}

const maxCommandWidth = 120

func (t *Tools) listProcesses(_ context.Context, _ *mcp.CallToolRequest, in struct {
	Match string `json:"match,omitempty" jsonschema:"only processes whose command line contains this text"`
}) (*mcp.CallToolResult, any, error) {
	var b strings.Builder
	for _, p := range t.Processes() {
		if !strings.Contains(p.Command, in.Match) {
			continue
		}
		fmt.Fprintf(&b, "%d  %s\n", p.PID, tabular.Cut(printable.String(p.Command), maxCommandWidth))
	}
	return text(truncated(b.String(), "What a process does now: dump.")), nil, nil
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
