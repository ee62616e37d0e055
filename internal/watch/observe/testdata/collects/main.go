// Command collects makes garbage in recursions of several depths: its threads are often on the scheduler's stack.
package main

import "fmt"

type node struct{ left, right *node }

//go:noinline
func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{tree(depth - 1), tree(depth - 1)}
}

type shape interface{ grow(depth int) int }

type leaf struct{ n int }

//go:noinline
func (l *leaf) grow(depth int) int {
	if depth == 0 {
		return count(tree(10)) + l.n
	}
	return shape(&leaf{depth}).grow(depth - 1)
}

func count(n *node) int {
	if n == nil {
		return 0
	}
	return 1 + count(n.left) + count(n.right)
}

func main() {
	for i := range 4 {
		go func() {
			for {
				shape(&leaf{}).grow(i * 15)
				m := map[int]string{}
				for k := range 500 {
					m[k] = fmt.Sprint(k)
				}
			}
		}()
	}
	fmt.Println("ready")
	select {}
}
