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
)

type tmux struct {
	t      *testing.T
	socket string
	dir    string
}

func newTmux(t *testing.T, columns, rows int) *tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("no tmux; scripts/setup-tests.sh installs it")
	}
	m := &tmux{t: t, dir: scratch(t, nil)}
	m.socket = filepath.Join(m.dir, "tmux")
	m.run("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), "-c", m.dir,
		"env", "PS1=ready: ", "NO_COLOR=", "sh")
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", m.socket, "kill-server").Run() })
	m.until("the shell", "ready:")
	return m
}

func (m *tmux) run(args ...string) string {
	m.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", m.socket}, args...)...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (m *tmux) types(line string) { m.run("send-keys", line, "Enter") }

// An escape and the next key at once would be one key.
func (m *tmux) keys(keys ...string) {
	for _, k := range keys {
		m.run("send-keys", k)
		time.Sleep(150 * time.Millisecond)
	}
}

func (m *tmux) screen() string { return m.run("capture-pane", "-p") }

const between = "=== the same screen, with wrapped lines joined ==="

func (m *tmux) until(what string, words ...string) string {
	m.t.Helper()
	text := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		both := m.run("capture-pane", "-p", ";", "display-message", "-p", between, ";", "capture-pane", "-p", "-J")
		screen, lines, _ := strings.Cut(both, between+"\n")
		text = screen
		missing := ""
		for _, w := range words {
			if !strings.Contains(text, w) && !strings.Contains(lines, w) {
				missing = w
			}
		}
		if missing == "" {
			return text
		}
	}
	m.t.Fatalf("%s: the screen does not have all of %q within %v:\n%s", what, words, patience, text)
	return ""
}

func (m *tmux) settings(tag string) string {
	m.t.Helper()
	file := filepath.Join(m.dir, "stty-"+tag)
	m.types("stty -a > " + file + "; echo done-" + tag)
	text := ""
	testtargets.Eventually(m.t, "stty has printed the settings", func() bool {
		b, err := os.ReadFile(file)
		text = string(b)
		return err == nil && strings.HasSuffix(text, "\n")
	})
	return text
}
