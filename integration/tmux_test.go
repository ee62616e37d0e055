// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

type tmux struct {
	t      *testing.T
	socket string
	dir    string
}

func newTmux(t *testing.T, columns, rows int) *tmux {
	t.Helper()
	testtargets.NeedProgram(t, "tmux")
	m := &tmux{t: t, dir: scratch(t, nil)}
	// The path of a socket has 107 bytes at most (unix(7)), and $TMPDIR may be long: the name is relative to m.dir.
	m.socket = "tmux"
	if err := os.Symlink(binary, filepath.Join(m.dir, "prywalk")); err != nil {
		t.Fatal(err)
	}
	m.run("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), "-c", m.dir,
		"env", "PS1=ready: ", "NO_COLOR=", "sh")
	t.Cleanup(func() { m.run("kill-server") })
	m.until("the shell", "ready:")
	return m
}

func (m *tmux) run(args ...string) string {
	m.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", m.socket}, args...)...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	out, err := bounded.AllOutput(cmd)
	if err != nil {
		m.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (m *tmux) types(line string) { m.run("send-keys", line, "Enter") }

// keys types keys, none of which may be an escape: with the next one it would be one key.
func (m *tmux) keys(keys ...string) {
	for _, k := range keys {
		m.run("send-keys", k)
	}
}

func (m *tmux) screen() string { return m.run("capture-pane", "-p") }

const between = "=== the same screen, with wrapped lines joined ==="

func (m *tmux) until(what string, words ...string) string {
	m.t.Helper()
	text := ""
	missing := ""
	has := func() bool {
		both := m.run("capture-pane", "-p", ";", "display-message", "-p", between, ";", "capture-pane", "-p", "-J")
		screen, lines, _ := strings.Cut(both, between+"\n")
		text, missing = screen, ""
		for _, w := range words {
			if !strings.Contains(text, w) && !strings.Contains(lines, w) {
				missing = w
			}
		}
		return missing == ""
	}
	for end := time.Now().Add(patience); !has(); time.Sleep(50 * time.Millisecond) { // tmux takes CPU time
		if time.Now().After(end) {
			m.t.Fatalf("%s: the screen does not have %q within %v:\n%s", what, missing, patience, text)
		}
	}
	return text
}

func (m *tmux) settings(tag string) string {
	m.t.Helper()
	file := filepath.Join(m.dir, "stty-"+tag)
	m.types("stty -a > stty-" + tag + "; echo done-" + tag)
	text := ""
	testtargets.Eventually(m.t, "stty has printed the settings", func() bool {
		b, err := os.ReadFile(file)
		text = string(b)
		return err == nil && strings.HasSuffix(text, "\n")
	})
	return text
}
