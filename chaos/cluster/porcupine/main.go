// Whether histories of keys are linearizable, by porcupine. A line of standard input is the history of a key, as JSON; what
// comes out is one line of JSON. Times are in nanoseconds; an operation without an end may have taken effect at any time
// after its beginning, or never.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

// A history that takes longer is not decided, and that is said.
const patience = 60 * time.Second

// A line of a client with many operations is long.
const longestLine = 64 << 20

type operation struct {
	Client int    `json:"client"`
	Op     string `json:"op"`
	// What is written.
	Value string `json:"value"`
	// What has to be there, of an operation with such a condition.
	Expected string `json:"expected"`
	// What a read has found; empty for nothing.
	Found string `json:"found"`
	// Whether it was done or refused; missing when nobody knows.
	Applied *bool  `json:"applied"`
	Invoke  int64  `json:"invoke"`
	Return  *int64 `json:"return"`
}

type history struct {
	Key        string      `json:"key"`
	Operations []operation `json:"operations"`
}

type verdict struct {
	Keys       int      `json:"keys"`
	Operations int      `json:"operations"`
	Unknown    int      `json:"unknown"`
	Illegal    []string `json:"illegal"`
	Undecided  []string `json:"undecided"`
}

// A register: no value is written to it twice, so a value stands for its version.
var register = porcupine.Model{
	Init: func() interface{} { return "" },
	Step: func(state, input, _ interface{}) (bool, interface{}) {
		held, op := state.(string), input.(operation)
		if op.Op == "read" {
			return op.Found == held, held
		}
		after, applies := effect(held, op)
		if op.Applied != nil && *op.Applied != applies {
			return false, held
		}
		return true, after
	},
	DescribeOperation: func(input, _ interface{}) string {
		op := input.(operation)
		if op.Op == "read" {
			return fmt.Sprintf("read -> %q", op.Found)
		}
		outcome := "?"
		if op.Applied != nil {
			outcome = fmt.Sprint(*op.Applied)
		}
		return fmt.Sprintf("%s(%q, if %q) -> %s", op.Op, op.Value, op.Expected, outcome)
	},
}

// What a write makes of a register, and whether its condition holds.
func effect(held string, op operation) (string, bool) {
	switch op.Op {
	case "set":
		return op.Value, true
	case "set-if-absent":
		return pick(held == "", op.Value, held)
	case "set-if-version":
		return pick(held != "" && held == op.Expected, op.Value, held)
	case "delete":
		return pick(held != "", "", held)
	case "delete-if":
		return pick(held != "" && held == op.Expected, "", held)
	}
	panic("an operation that is none: " + op.Op)
}

func pick(holds bool, then, otherwise string) (string, bool) {
	if holds {
		return then, true
	}
	return otherwise, false
}

func check(one history, pictures string) porcupine.CheckResult {
	operations := make([]porcupine.Operation, len(one.Operations))
	for i, op := range one.Operations {
		end := int64(math.MaxInt64)
		if op.Return != nil {
			end = *op.Return
		}
		operations[i] = porcupine.Operation{ClientId: op.Client, Input: op, Call: op.Invoke, Return: end}
	}
	result := porcupine.CheckOperationsTimeout(register, operations, patience)
	if result == porcupine.Illegal && pictures != "" {
		_, info := porcupine.CheckOperationsVerbose(register, operations, patience)
		file := fmt.Sprintf("%s/%x.html", pictures, one.Key)
		if err := porcupine.VisualizePath(register, info, file); err != nil {
			fmt.Fprintln(os.Stderr, "no picture of", one.Key, err)
		}
	}
	return result
}

func main() {
	pictures := ""
	if len(os.Args) > 1 {
		pictures = os.Args[1]
	}
	said := verdict{Illegal: []string{}, Undecided: []string{}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<16), longestLine)
	for lines.Scan() {
		var one history
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			fail(err)
		}
		said.Keys++
		said.Operations += len(one.Operations)
		for _, op := range one.Operations {
			if op.Return == nil {
				said.Unknown++
			}
		}
		switch check(one, pictures) {
		case porcupine.Illegal:
			said.Illegal = append(said.Illegal, one.Key)
		case porcupine.Unknown:
			said.Undecided = append(said.Undecided, one.Key)
		}
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}
