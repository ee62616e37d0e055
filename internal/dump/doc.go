// Package dump looks at all threads of a process once, and describes their stacks
// with names, for people and as JSON.
package dump
