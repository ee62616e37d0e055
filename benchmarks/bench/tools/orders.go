// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Orders is a program that answers each line of its standard input with a line.
type Orders struct {
	*Program
	in  *os.File
	out *os.File
	buf *bufio.Reader
}

// StartOrders starts a program that takes orders.
func StartOrders(ctx context.Context, program string, args ...string) (*Orders, error) {
	o := &Orders{}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o.in, o.out, o.buf = inW, outR, bufio.NewReader(outR)
	o.Program, err = launch(ctx, func(c *exec.Cmd) { c.Stdin, c.Stdout = inR, outW }, program, args...)
	inR.Close()
	outW.Close()
	if err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// Send sends an order and returns the answer.
func (o *Orders) Send(order string) ([]byte, error) {
	if _, err := io.WriteString(o.in, order+"\n"); err != nil {
		return nil, fmt.Errorf("%w: %w", err, o.alive())
	}
	if err := o.out.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	line, err := o.buf.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("%s does not answer to %q: %w", o.cmd.Args[0], order, err)
	}
	return line, nil
}

// Close closes the pipes.
func (o *Orders) Close() {
	o.in.Close()
	o.out.Close()
}

// Kill ends the program at once.
func (o *Orders) Kill() {
	o.Program.Kill()
	o.Close()
}
