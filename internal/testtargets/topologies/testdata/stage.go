// SPDX-License-Identifier: Apache-2.0

// Stage is a stage of a service, as stage.c, without a mutex. Its descriptors block, so that its waits are a thread's.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var fds [4]int // in for reading and writing, out

//go:noinline
func compute(length time.Duration) {
	for end := time.Now().Add(length); time.Now().Before(end); {
	}
}

//go:noinline
func nap(length time.Duration) {
	t := syscall.NsecToTimespec(int64(length))
	_ = syscall.Nanosleep(&t, nil)
}

var buffer [1]byte

func end(n int, err error) {
	if n != 1 || err != nil {
		os.Exit(0)
	}
}

//go:noinline
func call() {
	_, _ = syscall.Write(fds[3], []byte{0})
	end(syscall.Read(fds[2], buffer[:]))
}

//go:noinline
func awaitRequest() { end(syscall.Read(fds[0], buffer[:])) }

//go:noinline
func handle(log *os.File, phases []string) {
	for _, phase := range phases {
		name, ms, _ := strings.Cut(phase, ":")
		n, _ := strconv.Atoi(ms)
		begun := time.Now().UnixNano()
		switch name {
		case "call":
			call()
		case "nap":
			nap(time.Duration(n) * time.Millisecond)
		default:
			compute(time.Duration(n) * time.Millisecond)
		}
		fmt.Fprintln(log, name, begun, time.Now().UnixNano())
	}
}

func main() {
	log, _ := os.Create(os.Args[1])
	for i := range fds {
		fds[i], _ = strconv.Atoi(os.Args[2+i])
	}
	for {
		if fds[0] >= 0 {
			awaitRequest()
		}
		handle(log, os.Args[6:])
		if fds[1] >= 0 {
			_, _ = syscall.Write(fds[1], []byte{0})
		}
	}
}
