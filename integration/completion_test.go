// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/testtargets"
)

var shells = []struct {
	name string
	args []string
	load string
}{
	{"bash", []string{"--norc", "--noprofile", "-i"},
		"bind 'set completion-query-items 0'; . /usr/share/bash-completion/bash_completion; " +
			". <(prywalk completion bash)"},
	{"zsh", []string{"-f", "-i"}, "LISTMAX=100000; autoload -U compinit; compinit -u -D; . <(prywalk completion zsh)"},
	{"fish", []string{"--no-config", "-i"}, "prywalk completion fish | source"},
}

func startNamed(t *testing.T, name string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", `printf %s "$1" >/proc/$$/comm; echo ready; read line`, "sh", name)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out testtargets.Lines
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	testtargets.Says(t, &out, "ready")
}

func startShell(t *testing.T, name string, args []string, load string) (tty *testtargets.Terminal, dir string) {
	t.Helper()
	exe := testtargets.NeedProgram(t, name)
	tty = testtargets.NewTerminal(t, 200)
	dir = scratch(t, nil)
	cmd := exec.Command(exe, args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, tty.Slave, tty.Slave, tty.Slave
	cmd.Env = append(os.Environ(), "HOME="+dir, "TERM=xterm", "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	run(t, tty, load)
	return tty, dir
}

// The mark is typed in two parts, so that the echo of the line does not match.
func run(t *testing.T, tty *testtargets.Terminal, line string) {
	t.Helper()
	n := len(tty.Out.String())
	mark := fmt.Sprintf("mark%d", n)
	tty.Type(t, line+"; echo '"+mark[:2]+"''"+mark[2:]+"'\r")
	testtargets.Says(t, &tty.Out, mark+"\r\n")
}

// Another user may choose a process's name: it must not be executed, nor written to the terminal raw.
func TestCompletionsOfferNoNameThatAShellWouldExecute(t *testing.T) {
	t.Parallel()
	hostile := []string{"zqx$(./e)a", "zqw`./e`", "zqv;./e;", "zqu|./e", "zqt\n./e\n99", "zqs\x1b]0;x\a", "zqr (./e)"}
	for _, name := range append(hostile, "zqgood-1.x:0") {
		startNamed(t, name)
	}
	for _, sh := range shells {
		t.Run(sh.name, func(t *testing.T) {
			t.Parallel()
			tty, dir := startShell(t, sh.name, sh.args, sh.load)
			script := "#!/bin/sh\ntouch '" + dir + "/executed'\n"
			if err := testtargets.WriteExecutable(filepath.Join(dir, "e"), []byte(script)); err != nil {
				t.Fatal(err)
			}
			run(t, tty, "true")
			seen := len(tty.Out.String())
			for _, typed := range []string{"-n zqx", "-n zqw", "-n zqv", "-n zqu", "-n zqt", "-n zqs", "-n zqr", "-n zq",
				"-p "} {
				for _, keys := range []string{"\t", "\t\t", " \t", "\t"} {
					tty.Type(t, "prywalk dump "+typed+keys+"\x15") // ^U: deletes the line
				}
				run(t, tty, "true")
			}
			tty.Type(t, "prywalk dump -n zqg\t")
			testtargets.Says(t, &tty.Out, "zqgood-1.x:0")
			tty.Type(t, "\x15")
			run(t, tty, "true")
			if _, err := os.Stat(filepath.Join(dir, "executed")); err == nil {
				t.Error("completion executed a process's name")
			}
			text := tty.Out.String()[seen:]
			for _, name := range hostile {
				if strings.Contains(text, name[3:]) {
					t.Errorf("the name %q is on the terminal unquoted:\n%q", name, text)
				}
			}
		})
	}
}
