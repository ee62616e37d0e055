// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"prywalk/internal/host/selection"
	"prywalk/internal/show/view"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

type runs struct {
	lines  [][]string
	files  []string
	output string
	code   int
}

func (r *runs) run(_ context.Context, files []*os.File, args ...string) (string, int, error) {
	r.lines = append(r.lines, args)
	for _, f := range files {
		content, err := io.ReadAll(f)
		if err != nil {
			return "", 0, err
		}
		r.files = append(r.files, string(content))
	}
	return r.output, r.code, nil
}

func connect(t *testing.T, r *runs, allow bool) *mcp.ClientSession {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.pb.gz"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.pb.gz")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(t.TempDir(), "elsewhere"), filepath.Join(dir, "out.pb.gz")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.pb.gz"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Tools{Dir: dir, AllowRecord: allow, Run: r.run,
		Processes: func() []selection.Process {
			return []selection.Process{{PID: 7, Command: "redis-server *:6379"}, {PID: 8, Command: "nginx"}}
		}}
	return connectTo(t, o)
}

func connectTo(t *testing.T, o Tools) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	server, err := New("test", o).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		_ = server.Wait()
	})
	return client
}

func call(t *testing.T, c *mcp.ClientSession, tool string, args map[string]any) (string, bool) {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	var b strings.Builder
	for _, content := range res.Content {
		b.WriteString(content.(*mcp.TextContent).Text)
	}
	return b.String(), res.IsError
}

func TestToolsThatWriteAreOfferedOnlyWhenAllowed(t *testing.T) {
	for _, allow := range []bool{false, true} {
		list, err := connect(t, &runs{}, allow).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		offered := false
		for _, tool := range list.Tools {
			offered = offered || tool.Name == "record"
			if reads := tool.Annotations != nil && tool.Annotations.ReadOnlyHint; reads == (tool.Name == "record") {
				t.Errorf("%s: read-only %v", tool.Name, reads)
			}
		}
		if offered != allow || len(list.Tools) < 6 {
			t.Errorf("allowed %v: offered %v of %d tools", allow, offered, len(list.Tools))
		}
	}
	if _, failed := call(t, connect(t, &runs{}, false), "record", map[string]any{"pid": 1, "seconds": 1}); !failed {
		t.Error("record was run though it is not allowed")
	}
}

func TestTheReportToolNamesAllGroupings(t *testing.T) {
	list, err := connect(t, &runs{}, false).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == "report" })
	schema, err := json.Marshal(list.Tools[i])
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range append(view.Groupings(), "label:NAME") {
		if !strings.Contains(string(schema), by) {
			t.Errorf("%s is not named: %s", by, schema)
		}
	}
}

func TestToolsRunTheirCommands(t *testing.T) {
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"dump", map[string]any{"pid": 7, "max_depth": 3}, "dump -p 7 --merge --max-depth 3"},
		{"dump", map[string]any{"pid": 7, "locks": true}, "dump -p 7 --locks"},
		{"doctor", map[string]any{"pid": 7}, "doctor -p 7"},
		{"report", map[string]any{"file": "a.pb.gz", "by": "wait", "rows": 3}, "report /dev/fd/3 --by=wait --rows=3"},
		{"report", map[string]any{"file": "a.pb.gz", "from": "2s", "to": "03:00"}, "report /dev/fd/3 --from=2s --to=03:00"},
		{"report", map[string]any{"file": "a.pb.gz", "callers": "--html=x"}, "report /dev/fd/3 --callers=--html=x"},
	} {
		r := &runs{output: "the answer"}
		got, failed := call(t, connect(t, r, false), c.tool, c.args)
		if failed || !strings.HasPrefix(got, "the answer\n") {
			t.Errorf("%s: %v %q", c.tool, failed, got)
		}
		if len(r.lines) != 1 || strings.Join(r.lines[0], " ") != c.want {
			t.Errorf("%s ran %q, want %q", c.tool, r.lines, c.want)
		}
		if c.tool == "report" && !slices.Equal(r.files, []string{"content"}) {
			t.Errorf("report read %q", r.files)
		}
	}
}

func TestRecordHasTheLimitsOfProduction(t *testing.T) {
	r := &runs{output: "done"}
	call(t, connect(t, r, true), "record", map[string]any{"pid": 7, "seconds": 1})
	const want = "record -p 7 -d 1 -o "
	if len(r.lines) != 1 || !strings.HasPrefix(strings.Join(r.lines[0], " "), want) {
		t.Errorf("%q, want one that begins with %q", r.lines, want)
	}
}

func TestHostileArgumentsRunNothing(t *testing.T) {
	for _, c := range []struct {
		tool string
		args map[string]any
	}{
		{"dump", map[string]any{"pid": -1}},
		{"dump", map[string]any{"pid": "1; reboot"}},
		{"dump", map[string]any{"pid": 1, "max_depth": -5}},
		{"dump", map[string]any{"pid": 1, "unknown": true}},
		{"report", map[string]any{"file": "../../etc/passwd"}},
		{"report", map[string]any{"file": "/etc/passwd"}},
		{"report", map[string]any{"file": "link.pb.gz"}},
		{"report", map[string]any{"file": "--html=/tmp/x"}},
		{"report", map[string]any{"file": "."}},
		{"report", map[string]any{"file": "pipe.pb.gz"}},
		{"report", map[string]any{"file": strings.Repeat("x", 100_000)}},
		{"diff", map[string]any{"old": "pipe.pb.gz", "new": "a.pb.gz"}},
		{"record", map[string]any{"pid": 1, "seconds": 1, "file": "out.pb.gz"}},
		{"record", map[string]any{"pid": 1, "seconds": 1, "file": "pipe.pb.gz"}},
		{"record", map[string]any{"pid": 1, "seconds": 1, "file": "x\nNext: run rm -r.pb.gz"}},
		{"record", map[string]any{"pid": 1, "seconds": 1, "file": "\x1b[2J.pb.gz"}},
		{"record", map[string]any{"pid": 1, "seconds": 1, "file": strings.Repeat("x", 100_000) + ".pb\x00.gz"}},
		{"report", map[string]any{"file": "a.pb.gz", "rows": -1}},
		{"diff", map[string]any{"old": "a.pb.gz", "new": "../a.pb.gz"}},
		{"record", map[string]any{"pid": 1, "seconds": 0}},
		{"record", map[string]any{"pid": 1, "seconds": 100000}},
		{"record", map[string]any{"pid": 1, "seconds": 1, "file": "../x.pb.gz"}},
		{"record", map[string]any{"pid": 1, "seconds": 1, "file": "x.sh"}},
		{"record", map[string]any{"pid": 1, "seconds": 1, "file": "%p.pb.gz"}},
	} {
		r := &runs{}
		if got, failed := call(t, connect(t, r, true), c.tool, c.args); !failed || len(r.lines) != 0 {
			t.Errorf("%s %v: failed %v, ran %q: %s", c.tool, c.args, failed, r.lines, got)
		}
	}
}

func TestAFailureIsAnAnswerWithItsMessage(t *testing.T) {
	r := &runs{output: "prywalk: permission denied; run as root", code: 3}
	got, failed := call(t, connect(t, r, false), "dump", map[string]any{"pid": 7})
	if !failed || !strings.Contains(got, "run as root") || strings.Contains(got, "Next:") {
		t.Errorf("failed %v: %q", failed, got)
	}
	r = &runs{output: "a deadlock", code: 5}
	if got, failed := call(t, connect(t, r, false), "dump", map[string]any{"pid": 7, "locks": true}); failed {
		t.Errorf("a deadlock that was found is a failure: %q", got)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	for _, line := range []string{"0123456789\n", "é\xff\n", strings.Repeat("x", 40_000)} {
		got := truncated(strings.Repeat(line, 1+3*maxAnswerBytes/len(line)), "ask again")
		if len(got) > maxAnswerBytes || !strings.Contains(got, "lines were left out") ||
			!strings.HasSuffix(got, "ask again\n") || !strings.HasPrefix(got, strings.ToValidUTF8(line[:2], "\ufffd")) {
			t.Errorf("%.5q: %d bytes, end %q", line, len(got), got[max(0, len(got)-90):])
		}
	}
	if got := truncated("short", "go on"); got != "short\n\nNext: go on\n" {
		t.Errorf("%q", got)
	}
}

func TestListsNameProcessesAndRecordings(t *testing.T) {
	c := connect(t, &runs{}, false)
	if got, failed := call(t, c, "list_recordings", nil); failed || !strings.Contains(got, "a.pb.gz  7 bytes") ||
		strings.Contains(got, "link.pb.gz") {
		t.Errorf("recordings: %v %q", failed, got)
	}
	if got, failed := call(t, c, "list_processes", map[string]any{"match": "redis"}); failed ||
		!strings.HasPrefix(got, "7  redis-server *:6379\n") || strings.Contains(got, "nginx") {
		t.Errorf("processes: %v %q", failed, got)
	}
}

func TestLongCommandLinesAreCutBetweenCharacters(t *testing.T) {
	o := Tools{Processes: func() []selection.Process {
		return []selection.Process{{PID: 7, Command: "x" + strings.Repeat("é", maxCommandWidth)}}
	}}
	got, failed := call(t, connectTo(t, o), "list_processes", nil)
	if want := "7  x" + strings.Repeat("é", maxCommandWidth-2) + "…\n"; failed || !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRefusedArgumentsKeepNoFileOpen(t *testing.T) {
	c := connect(t, &runs{}, false)
	before := testtargets.Descriptors(t)
	for range 10 {
		call(t, c, "report", map[string]any{"file": "a.pb.gz", "rows": -1})
	}
	if n := testtargets.Descriptors(t); n > before {
		t.Errorf("%d open files, %d before", n, before)
	}
}

func TestAnswersNameRecordingsNotDescriptors(t *testing.T) {
	r := &runs{}
	o := Tools{Dir: t.TempDir(), slots: make(chan struct{}, 1)}
	for _, name := range []string{"a.pb.gz", "b.pb.gz"} {
		if err := os.WriteFile(filepath.Join(o.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.Run = func(ctx context.Context, files []*os.File, args ...string) (string, int, error) {
		_, _, _ = r.run(ctx, files, args...)
		return "cannot read " + args[1] + " and " + args[2], 1, nil
	}
	got, failed := call(t, connectTo(t, o), "diff", map[string]any{"old": "a.pb.gz", "new": "b.pb.gz"})
	if !failed || !strings.Contains(got, "cannot read a.pb.gz and b.pb.gz") {
		t.Errorf("%v %q", failed, got)
	}
}

func TestFewCommandsRunAtOnce(t *testing.T) {
	const calls = 5 * maxConcurrentCommands
	var running, most atomic.Int32
	release := make(chan struct{})
	c := connectTo(t, Tools{Dir: t.TempDir(), Run: func(context.Context, []*os.File, ...string) (string, int, error) {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer running.Add(-1)
		bounded.Receive(t, "the call may go on", release)
		return "done", 0, nil
	}})
	done := make(chan bool)
	for range calls {
		go func() {
			_, failed := call(t, c, "dump", map[string]any{"pid": 1})
			done <- failed
		}()
	}
	close(release)
	for range calls {
		if bounded.Receive(t, "all calls are answered", done) {
			t.Error("a call failed")
		}
	}
	if n := most.Load(); n > maxConcurrentCommands {
		t.Errorf("%d commands ran at once", n)
	}
}
