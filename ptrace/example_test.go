// SPDX-License-Identifier: Apache-2.0

package ptrace_test

import (
	"fmt"
	"log"
	"os/exec"
	"time"

	"prywalk/ptrace"
)

// A thread is stopped, its registers and the top of its stack are copied, and it is detached.
func Example() {
	target := exec.Command("sleep", "60")
	if err := target.Start(); err != nil {
		log.Fatal(err)
	}
	defer func() {
		_ = target.Process.Kill()
		_ = target.Wait()
	}()
	err := ptrace.Run(ptrace.Options{}, func(c *ptrace.Controller) error {
		if _, err := c.Begin(target.Process.Pid); err != nil {
			return err
		}
		request := ptrace.Request{Stack: make([]byte, 64<<10)}
		var stop ptrace.Stop
		attachment := c.WaitAny(ptrace.Now().Add(10 * time.Second))
		if attachment == nil {
			return fmt.Errorf("it did not stop")
		}
		if err := c.Finish(attachment, &request, &stop); err != nil {
			return err
		}
		fmt.Println("the stack was copied:", stop.Copy.StackLen > 0 && stop.Regs.SP() >= stop.Copy.StackAddr)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: the stack was copied: true
}
