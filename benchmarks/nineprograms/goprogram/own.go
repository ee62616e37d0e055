// SPDX-License-Identifier: Apache-2.0

// Command goprogram computes in one goroutine while another sleeps in a system call. (A parked goroutine has no
// thread.)
package main

import "syscall"

//go:noinline
func invoiceTotal(n uint64) (sum uint64) {
	for i := uint64(1); i < n; i++ {
		sum += i * i % 7
	}
	return sum
}

//go:noinline
func waitForOrders(fd int) {
	var b [1]byte
	_, _ = syscall.Read(fd, b[:])
}

func main() {
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		panic(err)
	}
	go waitForOrders(pipe[0])
	for invoiceTotal(10_000_000) != 0 {
	}
}
