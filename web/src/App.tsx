// The page's frame: the way in, the inbox beside whatever is open, the palette, the keys, the word about the connection.
import { Link, Outlet, useMatches, useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { known } from "./api/client";
import { link, startLive } from "./api/live";
import { versionQuery } from "./api/queries";
import { Inbox } from "./inbox/Inbox";
import { useSay } from "./i18n";
import { LoginPage } from "./places/LoginPage";
import { useCell } from "./ui/cell";
import { KeysHelp } from "./ui/KeysHelp";
import { useKeys } from "./ui/keys";
import { Notices, tell } from "./ui/notice";
import { Palette } from "./ui/Palette";

export function App() {
  const access = useCell(known);
  const entering = useMatches({ select: (matches) => matches.some(({ routeId }) => routeId === "/login") });
  if (entering) return <Outlet />;
  if (access === "out") return <LoginPage />;
  return <Inside />;
}

function Inside() {
  const say = useSay();
  const navigate = useNavigate();
  const [overlay, setOverlay] = useState<"palette" | "keys">();
  const atHome = useMatches({ select: (matches) => matches.at(-1)?.routeId === "/" });
  // Asked early: it tells whether this browser is known at all.
  useQuery(versionQuery);
  useEffect(startLive, []);
  useKeys({
    "mod+k": () => setOverlay(overlay === "palette" ? undefined : "palette"),
    "?": () => setOverlay("keys"),
    Escape: () => !atHome && void navigate({ to: "/" }),
    u: () => void navigate({ to: "/" }),
  });
  return (
    <div className={atHome ? "frame home" : "frame"}>
      <a className="skip" href="#content">
        {say("nav.skip")}
      </a>
      <LinkBanner />
      <nav className="side" aria-label="Throughline">
        <div className="brand">
          <Link to="/" className="wordmark">
            Throughline
          </Link>
          <button type="button" className="plain go" onClick={() => setOverlay("palette")}>
            {say("nav.palette")} <kbd>⌘K</kbd>
          </button>
        </div>
        <Inbox />
        <div className="places">
          <Link to="/projects">{say("nav.projects")}</Link>
          <Link to="/agents">{say("nav.agents")}</Link>
          <Link to="/settings">{say("nav.settings")}</Link>
        </div>
      </nav>
      <Outlet />
      {overlay === "palette" && <Palette onClose={() => setOverlay(undefined)} />}
      {overlay === "keys" && <KeysHelp onClose={() => setOverlay(undefined)} />}
      <Notices />
    </div>
  );
}

/** A short loss is nobody's business; a longer one is said, and so is its end. */
const SAID_AFTER_MS = 800;

function LinkBanner() {
  const say = useSay();
  const state = useCell(link);
  const [said, setSaid] = useState(false);
  useEffect(() => {
    if (state === "live") {
      if (said) tell({ text: say("link.back") });
      setSaid(false);
      return;
    }
    const timer = setTimeout(() => setSaid(true), state === "lost" ? SAID_AFTER_MS : 4 * SAID_AFTER_MS);
    return () => clearTimeout(timer);
  }, [state]);
  return (
    <div className="banner" role="status" aria-live="polite">
      {said && state !== "live" && <p>{say("link.lost")}</p>}
    </div>
  );
}
