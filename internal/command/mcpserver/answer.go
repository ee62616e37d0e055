// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"prywalk/internal/base/exit"
	"prywalk/internal/base/printable"
)

// runCommand passes recordings as the first arguments. A failed command's answer is its message.
func (o *Options) runCommand(ctx context.Context, recordings []string, next, command string, args ...string) (
	*mcp.CallToolResult, any, error,
) {
	var files []*os.File
	var paths, names []string
	for i, name := range recordings {
		f, err := o.open(name)
		if err != nil {
			return nil, nil, err
		}
		defer f.Close()
		files = append(files, f)
		paths = append(paths, fmt.Sprintf("/dev/fd/%d", 3+i))
		names = append(names, paths[i], printable.Line(name))
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, commandTimeout)
		defer cancel()
	}
	select {
	case o.slots <- struct{}{}:
		defer func() { <-o.slots }()
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("%d other commands run: ask again later", maxConcurrentCommands)
	}
	output, code, err := o.Run(ctx, files, slices.Concat([]string{command}, paths, args)...)
	if err != nil {
		return nil, nil, fmt.Errorf("prywalk %s could not be run: %w", command, err)
	}
	output = strings.NewReplacer(names...).Replace(output)
	failed := code != exit.OK && code != exit.Deadlock && code != exit.NoSamples
	if failed {
		next = ""
	}
	if failed && ctx.Err() != nil {
		output = fmt.Sprintf("prywalk %s was ended: it took too long\n%s", command, output)
	}
	answer := text(truncated(output, next))
	answer.IsError = failed
	return answer, nil, nil
}

// truncated cuts after a line if possible: with next the text has at most maxAnswerBytes.
func truncated(text, next string) string {
	tail := ""
	if next != "" {
		tail = "\nNext: " + next + "\n"
	}
	text = strings.ToValidUTF8(strings.TrimRight(text, "\n")+"\n", "\ufffd")
	const reserve = 100 // for the note below
	most := maxAnswerBytes - len(tail)
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
