// SPDX-License-Identifier: Apache-2.0

// Cores writes core files of the emulated machine to the console, as lines "@@ file NAME DATA", DATA being base64 of
// the gzipped file.
//
// cores stop NAME ADDRESS PROGRAM    the program's core when it first reaches the address
// cores live NAME PROGRAM            prywalk's dump of a stopped process, and its core
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

const corePath = "/tmp/core"

func main() {
	if len(os.Args) < 4 {
		fail(errors.New("usage: cores stop NAME ADDRESS PROGRAM | cores live NAME PROGRAM"))
	}
	fail(os.WriteFile("/proc/sys/kernel/core_pattern", []byte(corePath), 0))
	fail(unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}))
	_ = os.Remove(corePath)
	switch name, rest := os.Args[2], os.Args[3:]; os.Args[1] {
	case "stop":
		addr, err := strconv.ParseUint(rest[0], 0, 64)
		fail(err)
		fail(stopAt(addr, rest[1]))
		fail(send(name, corePath))
	case "live":
		fail(live(name, rest[0]))
	}
	fmt.Println("\nPASS")
}

func fail(err error) {
	if err != nil {
		fmt.Println("cores:", err)
		os.Exit(1)
	}
}

func send(name, file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(b); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	text := base64.StdEncoding.EncodeToString(packed.Bytes())
	for len(text) > 0 {
		n := min(len(text), 2000)
		fmt.Printf("@@ file %s %s\n", name, text[:n])
		text = text[n:]
	}
	return nil
}

const brk = 0xd4200000

func stopAt(addr uint64, program string) error {
	runtime.LockOSThread() // only the OS thread that started the program may trace it
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "GOTRACEBACK=crash", "GODEBUG=asyncpreemptoff=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	pid := cmd.Process.Pid
	if _, err := stopped(pid); err != nil {
		return err
	}
	var old, insn [4]byte
	binary.LittleEndian.PutUint32(insn[:], brk)
	if _, err := unix.PtracePeekText(pid, uintptr(addr), old[:]); err != nil {
		return fmt.Errorf("read code: %w", err)
	}
	if _, err := unix.PtracePokeText(pid, uintptr(addr), insn[:]); err != nil {
		return fmt.Errorf("write code: %w", err)
	}
	for sig := unix.Signal(0); sig != unix.SIGTRAP; {
		if err := unix.PtraceCont(pid, int(sig)); err != nil {
			return fmt.Errorf("continue: %w", err)
		}
		var err error
		if sig, err = stopped(pid); err != nil {
			return fmt.Errorf("on the way to %#x: %w", addr, err)
		}
	}
	if _, err := unix.PtracePokeText(pid, uintptr(addr), old[:]); err != nil {
		return fmt.Errorf("write code: %w", err)
	}
	for sig := unix.SIGABRT; ; {
		if err := unix.PtraceCont(pid, int(sig)); err != nil {
			return fmt.Errorf("continue: %w", err)
		}
		var err error
		if sig, err = stopped(pid); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func stopped(pid int) (unix.Signal, error) {
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(pid, &ws, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case ws.Stopped():
			return ws.StopSignal(), nil
		default:
			return 0, io.EOF
		}
	}
}

func live(name, program string) error {
	cmd := exec.Command(program)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		return err
	}
	pid := cmd.Process.Pid
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		return err
	}
	if !testtargets.Comes(func() bool { return allStopped(pid) }) {
		return fmt.Errorf("process %d is not stopped by SIGSTOP", pid)
	}
	text, err := bounded.Output(exec.Command("/programs/prywalk", "dump", "--json", "-p", strconv.Itoa(pid)))
	if err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	if err := os.WriteFile("/tmp/live.json", text, 0o600); err != nil {
		return err
	}
	if err := killHeld(pid); err != nil {
		return err
	}
	if err := send(name+".json", "/tmp/live.json"); err != nil {
		return err
	}
	return send(name, corePath)
}

// killHeld kills a stopped process by SIGABRT so that no thread runs again: this tracer holds each thread at SIGCONT,
// and releases only the first, which takes the signal.
func killHeld(pid int) error {
	runtime.LockOSThread()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return err
	}
	for _, t := range tasks {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			return err
		}
		if err := unix.PtraceSeize(tid); err != nil {
			return fmt.Errorf("seize thread %d: %w", tid, err)
		}
		if _, err := stopped(tid); err != nil {
			return fmt.Errorf("thread %d: %w", tid, err)
		}
	}
	if err := unix.Tgkill(pid, pid, unix.SIGABRT); err != nil {
		return err
	}
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		return err
	}
	if err := unix.PtraceCont(pid, 0); err != nil {
		return fmt.Errorf("continue: %w", err)
	}
	return reap(pid)
}

// Precondition: all threads are tracees.
func reap(pid int) error {
	for {
		var ws unix.WaitStatus
		tid, err := unix.Wait4(-1, &ws, unix.WALL, nil)
		switch {
		case err == unix.ECHILD:
			return nil
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case tid != pid || !ws.Stopped():
			continue
		}
		sig := ws.StopSignal()
		if sig == unix.SIGTRAP || sig == unix.SIGCONT || sig == unix.SIGSTOP {
			sig = 0
		}
		if err := unix.PtraceCont(pid, int(sig)); err != nil {
			return fmt.Errorf("continue: %w", err)
		}
	}
}

func allStopped(pid int) bool {
	dir := fmt.Sprintf("/proc/%d/task/", pid)
	tasks, err := os.ReadDir(dir)
	for _, t := range tasks {
		b, err := os.ReadFile(dir + t.Name() + "/stat")
		if err != nil || !strings.Contains(string(b), ") T ") {
			return false
		}
	}
	return err == nil
}
