// A mochi broker for the specs that permits everything to every client. Prints a line when the broker listens.
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
)

func main() {
	address := flag.String("address", "127.0.0.1:0", "where to listen")
	flag.Parse()
	server := mqtt.New(&mqtt.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))})
	if err := server.AddHook(new(auth.AllowHook), nil); err != nil {
		panic(err)
	}
	listener := listeners.NewTCP(listeners.Config{ID: "tcp", Address: *address})
	if err := server.AddListener(listener); err != nil {
		panic(err)
	}
	if err := server.Serve(); err != nil {
		panic(err)
	}
	fmt.Println("running", listener.Address())
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	<-stop
	_ = server.Close()
}
