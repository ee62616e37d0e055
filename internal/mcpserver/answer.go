// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"prywalk/internal/exit"
)

// runCommand runs a command of prywalk. The answer to a failed command is its message.
func (o *Options) runCommand(ctx context.Context, stdin *os.File, next string, args ...string) (
	*mcp.CallToolResult, any, error,
) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	select {
	case o.turns <- struct{}{}:
		defer func() { <-o.turns }()
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("%d other commands run: ask again later", mostCommands)
	}
	output, code, err := o.Run(ctx, stdin, args...)
	if err != nil {
		return nil, nil, fmt.Errorf("prywalk %s could not be run: %w", args[0], err)
	}
	failed := code != exit.OK && code != exit.Deadlock && code != exit.NoSamples
	if failed {
		next = ""
	}
	if failed && ctx.Err() != nil {
		output = fmt.Sprintf("prywalk %s was ended: it took too long\n%s", args[0], output)
	}
	return &mcp.CallToolResult{IsError: failed, Content: []mcp.Content{&mcp.TextContent{Text: truncated(output, next)}}},
		nil, nil
}

// truncated cuts a text, after a line unless the first is too long: with next it has at most MostBytes.
func truncated(text, next string) string {
	tail := ""
	if next != "" {
		tail = "\nNext: " + next + "\n"
	}
	text = strings.ToValidUTF8(strings.TrimRight(text, "\n")+"\n", "\ufffd")
	const reserve = 100 // for the note below
	most := MostBytes - len(tail)
	if len(text) <= most {
		return text + tail
	}
	kept, end := text[:most-reserve], "\n"
	if at := strings.LastIndexByte(kept, '\n'); at >= 0 {
		kept, end = kept[:at+1], ""
	}
	return fmt.Sprintf("%s%s… %d more lines were left out; ask with fewer rows or a filter\n%s",
		strings.ToValidUTF8(kept, ""), end, strings.Count(text[len(kept):], "\n"), tail)
}
