// Where the page starts.
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { createRoot } from "react-dom/client";
import { client } from "./api/queries";
import { keepShell } from "./offline";
import { router } from "./router";
import "./styles.css";
import "./ui/theme";

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
}
keepShell();
