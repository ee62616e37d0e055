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

// orders are lines to a program's standard input, each of which it answers with a line.
type orders struct {
	*process
	in  *os.File
	out *os.File
	buf *bufio.Reader
}

// obey starts a program that takes orders.
func obey(ctx context.Context, program string, args ...string) (*orders, error) {
	o := &orders{}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o.in, o.out, o.buf = inW, outR, bufio.NewReader(outR)
	o.process, err = launch(ctx, func(c *exec.Cmd) { c.Stdin, c.Stdout = inR, outW }, program, args...)
	inR.Close()
	outW.Close()
	if err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

// say gives an order and gives the answer.
func (o *orders) say(order string) ([]byte, error) {
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

func (o *orders) close() {
	o.in.Close()
	o.out.Close()
}

// Kill ends the program at once.
func (o *orders) Kill() {
	o.process.Kill()
	o.close()
}
