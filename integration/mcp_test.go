// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"prywalk/internal/testtargets/bounded"
)

func TestMCPServerAnswersAboutAProcess(t *testing.T) {
	t.Parallel()
	sleeper := exec.Command("sleep", "4321")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
	}()
	target := sleeper.Process.Pid
	cmd := exec.Command(binary, "mcp", "--allow-record", "--dir", t.TempDir())
	cmd.Stderr = os.Stderr
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ask := func(tool string, args map[string]any, want string) {
		t.Helper()
		res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		text := res.Content[0].(*mcp.TextContent).Text
		if res.IsError || !strings.Contains(text, want) || len(text) > 32<<10 {
			t.Errorf("%s: error %v, no %q in %d bytes:\n%s", tool, res.IsError, want, len(text), text)
		}
	}
	ask("list_processes", map[string]any{"match": "sleep 4321"}, "sleep 4321")
	ask("dump", map[string]any{"pid": target}, "sleep")
	ask("dump", map[string]any{"pid": target, "locks": true}, "lock")
	ask("doctor", map[string]any{"pid": target}, "ok")
	ask("record", map[string]any{"pid": target, "seconds": 1, "file": "one.pb.gz"}, "one.pb.gz")
	ask("list_recordings", nil, "one.pb.gz")
	ask("report", map[string]any{"file": "one.pb.gz", "by": "wait"}, "nanosleep")
	ask("diff", map[string]any{"old": "one.pb.gz", "new": "one.pb.gz"}, "")
}

func TestJunkEndsTheMCPServerWithALineOfError(t *testing.T) {
	t.Parallel()
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"
	for name, junk := range map[string]string{
		"bytes":           "\x00\xff\x1b[2J\n",
		"brackets":        hello + strings.Repeat("[", 1<<20) + "\n",
		"a huge number":   hello + `{"jsonrpc":"2.0","id":` + strings.Repeat("9", 1<<16) + `,"method":"ping"}` + "\n",
		"an endless line": `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("a", 64<<20),
	} {
		cmd := exec.Command(binary, "mcp", "--dir", t.TempDir())
		var said strings.Builder
		cmd.Stdin, cmd.Stderr = strings.NewReader(junk), &said
		_ = bounded.Run(cmd)
		peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
		text := said.String()
		if cmd.ProcessState.ExitCode() != 1 || !strings.HasPrefix(text, "prywalk: reading messages: ") ||
			strings.Count(text, "\n") != 1 || strings.ContainsAny(text, "\x00\x1b") || peak > 256<<20 {
			t.Errorf("%s: exit code %d, %d MB: %q", name, cmd.ProcessState.ExitCode(), peak>>20, clip(text))
		}
	}
}
