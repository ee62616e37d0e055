package ptrace

import (
	"encoding/binary"
	"errors"
	"os"
	"syscall"
)

const (
	// heldName is argument 0 of this program when it is to become a command.
	heldName = "prywalk: held before exec"
	holdFD   = 3
	statusFD = 4
	// exitAbandoned is the exit status when the parent ended before the release.
	exitAbandoned = 125
)

// init turns a process that Launch started into the command. It is here and not
// in a function for main to call, so that no program that launches can forget it
// and start itself without end.
func init() {
	if len(os.Args) >= 3 && os.Args[0] == heldName {
		runHeld(os.Args[1], os.Args[2:])
	}
}

// runHeld waits for one byte, then executes the command. It does not return.
func runHeld(path string, args []string) {
	syscall.CloseOnExec(holdFD)
	syscall.CloseOnExec(statusFD)
	var b [1]byte
	for {
		n, err := syscall.Read(holdFD, b[:])
		if err == syscall.EINTR {
			continue
		}
		if n != 1 {
			os.Exit(exitAbandoned)
		}
		break
	}
	// Execve also restores what the Go runtime changed for itself: signal
	// handlers and the limit of open files.
	err := syscall.Exec(path, args, os.Environ())
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		errno = syscall.EINVAL
	}
	var e [4]byte
	binary.LittleEndian.PutUint32(e[:], uint32(errno))
	_, _ = syscall.Write(statusFD, e[:]) // the exit status says it too
	os.Exit(126)
}
