// Command hello is compiled by a test that reads its call frame information.
package main

func main() { println("hello") }
