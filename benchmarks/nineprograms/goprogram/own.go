// Command goprogram computes in one goroutine, while another one sleeps in a read of a pipe.
package main

import "os"

//go:noinline
func invoiceTotal(n uint64) (sum uint64) {
	for i := uint64(1); i < n; i++ {
		sum += i * i % 7
	}
	return sum
}

//go:noinline
func waitForOrders(f *os.File) {
	var b [1]byte
	_, _ = f.Read(b[:])
}

func main() {
	r, _, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	go waitForOrders(r)
	for invoiceTotal(10_000_000) != 0 { // it never is 0
	}
}
