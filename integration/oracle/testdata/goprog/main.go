// Command goprog runs Go's runtime and standard library.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"
)

// mark stops at a breakpoint (mark.h).
func mark(name *byte)

func section(name string) { mark(&append([]byte(name), 0)[0]) }

var sink any

type node struct {
	next *node
	data [5]int
}

//go:noinline
func maps(round int) {
	m := map[string]int{}
	n := map[int]*node{}
	for i := range 60 {
		m["key"+strconv.Itoa(i*round%77)] += i
		n[i*7919%101] = &node{}
	}
	for k := range m {
		if len(k)%2 == 0 {
			delete(m, k)
		}
	}
	sink = len(m) + len(n)
}

//go:noinline
func slices(round int) {
	var s []int
	var p []*node
	for i := range 200 {
		s = append(s, i*7919%1000+round)
		p = append(p, &node{})
	}
	sort.Ints(s)
	sort.Slice(p, func(i, j int) bool { return p[i].data[0] < p[j].data[0] })
	sink = append(append([]int{}, s...), len(p))
}

//go:noinline
func text(round int) {
	s := fmt.Sprintf("%d %5.3f %v %q %x %T %+v", round, float64(round)/7, []int{1, 2}, "quoted", "hex", 5, struct{ A, B int }{1, 2})
	sink = strings.Fields(strings.ToUpper(strings.Repeat(s, 3)))
	b, _ := json.Marshal(map[string]any{"a": 1, "b": []float64{1.5, 2}})
	var v any
	_ = json.Unmarshal(b, &v)
	f, _ := strconv.ParseFloat("2.718281828459045235360287", 64)
	sink = f
	sink = regexp.MustCompile(`(a+)(b|c)*d`).FindStringSubmatch("xxaabcbd")
	sink = new(big.Int).Exp(big.NewInt(int64(round+3)), big.NewInt(77), big.NewInt(1000003))
	_ = bytes.Compare(b, []byte(s))
}

//go:noinline
func recurse(n int) int {
	var a [100]int
	a[n%100] = n
	if n == 0 {
		return a[0]
	}
	return recurse(n-1) + a[n%100]
}

//go:noinline
func fail(n int) int {
	defer func() { sink = n }()
	if n == 0 {
		var p *node
		if time.Now().IsZero() {
			p = &node{}
		}
		_ = errors.New("unused")
		panic(fmt.Sprint("boom", p == nil))
	}
	return fail(n-1) + 1
}

//go:noinline
func panics() {
	defer func() { sink = recover() }()
	fail(4)
}

//go:noinline
func system() {
	sink = time.Now()
	_, err := os.Open("/nowhere/at/all")
	sink = err
	b := make([]byte, 50)
	f, _ := os.Open("/dev/zero")
	_, _ = f.Read(b)
	_ = f.Close()
	runtime.Gosched()
	c := make(chan int, 3)
	c <- 1
	c <- 2
	select {
	case v := <-c:
		sink = v
	default:
	}
	go func() { sink = 1 }()
	large := make([]byte, 1<<20)
	sink = large
	var i any = sink
	_, ok := i.(fmt.Stringer)
	sink = ok
	sink = time.Since(time.Now())
}

func main() {
	runtime.LockOSThread()
	for round := 0; ; round++ {
		section("maps")
		maps(round)
		section("slices")
		slices(round)
		section("text")
		text(round)
		section("panics")
		panics()
		section("system")
		system()
		section("growth")
		sink = recurse(20 + round*7%600)
		section("gc")
		if round%3 == 0 {
			runtime.GC()
		}
		section("")
	}
}
