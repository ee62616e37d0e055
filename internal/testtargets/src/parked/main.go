// SPDX-License-Identifier: Apache-2.0

// Goroutines that wait: as many as the argument says in each of eight ways, each way in a function of its own. It
// prints "ready" when its own run-time system says that all wait so.
package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	mu    sync.Mutex
	rw    sync.RWMutex
	wg    sync.WaitGroup
	never = make(chan int)
	full  = make(chan int)
	other = make(chan int)
)

func receive()        { <-never }
func send()           { full <- 1 }
func lock()           { mu.Lock() }
func rlock()          { rw.RLock() }
func wait()           { wg.Wait() }
func sleep()          { time.Sleep(time.Hour) }
func read(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }

func choose() {
	select {
	case <-never:
	case <-other:
	}
}

// reasons are the runtime's words for each function.
var reasons = map[string]string{"receive": "chan receive", "send": "chan send", "lock": "sync.Mutex.Lock",
	"rlock": "sync.RWMutex.RLock", "wait": "sync.WaitGroup.Wait", "sleep": "sleep", "read": "IO wait", "choose": "select"}

// parked counts the goroutines that wait in a function as it should.
func parked() (n int) {
	all := make([]byte, 64<<20)
	for _, g := range strings.Split(string(all[:runtime.Stack(all, true)]), "\n\n") {
		for function, reason := range reasons {
			if strings.Contains(g, "["+reason) && strings.Contains(g, "main."+function+"(") {
				n++
			}
		}
	}
	return n
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	mu.Lock()
	rw.Lock()
	wg.Add(1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	var kept []net.Conn
	for i := 0; i < n; i++ {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			panic(err)
		}
		s, err := l.Accept()
		if err != nil {
			panic(err)
		}
		kept = append(kept, s)
		go read(c)
		go receive()
		go send()
		go lock()
		go rlock()
		go wait()
		go sleep()
		go choose()
	}
	for parked() < n*len(reasons) {
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
	runtime.KeepAlive(kept)
}
